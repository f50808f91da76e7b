# A document store's copy: each file of one set is extended and read again, then one of the other set is removed.
set $dir=/tmp
set $nfiles=1000
set $meandirwidth=20
set $filesize=16k
set $nthreads=1
set $meaniosize=16k
set $readiosize=1m
set mode quit firstdone

define fileset name=grown,path=$dir,entries=$nfiles,size=$filesize,dirwidth=$meandirwidth,prealloc,paralloc
define fileset name=removed,path=$dir,entries=$nfiles,size=$filesize,dirwidth=$meandirwidth,prealloc,paralloc

define process name=store
{
  thread name=store,instances=$nthreads,memsize=10m
  {
    flowop openfile name=open,filesetname=grown,fd=1
    flowop appendfilerand name=append,fd=1,iosize=$meaniosize
    flowop closefile name=append-close,fd=1
    flowop openfile name=again,filesetname=grown,fd=1
    flowop readwholefile name=read,fd=1,iosize=$readiosize
    flowop closefile name=read-close,fd=1
    flowop deletefile name=delete,filesetname=removed
  }
}

run
