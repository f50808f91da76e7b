# A proxy: each thread replaces one object of its cache, and sends five.
set $dir=/tmp
set $nfiles=10000
set $filesize=16k
set $nthreads=100
set $iosize=1m
set $meanappendsize=16k
set $runtime=60

define fileset name=cache,path=$dir,entries=$nfiles,size=$filesize,dirwidth=1000000,prealloc=80

define flowop name=hit
{
  flowop openfile name=open,filesetname=cache,fd=1
  flowop readwholefile name=read,fd=1,iosize=$iosize
  flowop closefile name=close,fd=1
}

define process name=proxy
{
  thread name=worker,instances=$nthreads,memsize=10m
  {
    flowop deletefile name=expire,filesetname=cache
    flowop createfile name=fetch,filesetname=cache,fd=1
    flowop appendfilerand name=fetch-write,fd=1,iosize=$meanappendsize
    flowop closefile name=fetch-close,fd=1
    flowop hit name=hit,iters=5
    flowop opslimit name=limit
  }
}

run $runtime
