# A video server: many readers go through videos at a fixed rate while one writer replaces old ones.
set $dir=/tmp
set $filesize=10g
set $numactivevids=32
set $numpassivevids=194
set $nthreads=48
set $readiosize=256k
set $writeiosize=1m
set $repintval=10
set $eventrate=96
set $runtime=60

eventgen rate=$eventrate

define fileset name=active,path=$dir,entries=$numactivevids,size=$filesize,dirwidth=4,prealloc,paralloc
define fileset name=passive,path=$dir,entries=$numpassivevids,size=$filesize,dirwidth=20,prealloc=50,paralloc

define process name=replacing
{
  thread name=replacer,memsize=10m
  {
    flowop deletefile name=delete,filesetname=passive
    flowop createfile name=make,filesetname=passive,fd=1
    flowop writewholefile name=write,fd=1,iosize=$writeiosize
    flowop closefile name=close,fd=1
    flowop delay name=pause,value=$repintval
  }
}

define process name=viewing
{
  thread name=viewer,instances=$nthreads,memsize=10m
  {
    flowop read name=view,filesetname=active,iosize=$readiosize
    flowop bwlimit name=limit,target=view
  }
}

run $runtime
