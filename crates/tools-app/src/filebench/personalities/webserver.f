# A web server: each thread sends ten pages, and appends to one shared log.
set $dir=/tmp
set $nfiles=1000
set $meandirwidth=20
set $filesize=cvar(type=cvar-gamma,parameters=mean:16384;gamma:1.5)
set $nthreads=100
set $iosize=1m
set $meanappendsize=16k
set $runtime=60

define fileset name=pages,path=$dir,entries=$nfiles,size=$filesize,dirwidth=$meandirwidth,prealloc,readonly
define fileset name=log,path=$dir,entries=1,size=$filesize,dirwidth=$meandirwidth,prealloc

define flowop name=page
{
  flowop openfile name=open,filesetname=pages,fd=1
  flowop readwholefile name=read,fd=1,iosize=$iosize
  flowop closefile name=close,fd=1
}

define process name=server
{
  thread name=worker,instances=$nthreads,memsize=10m
  {
    flowop page name=page,iters=10
    flowop appendfilerand name=log,filesetname=log,fd=2,iosize=$meanappendsize
  }
}

run $runtime
