# A tree of files is copied, one file after another.
set $dir=/tmp
set $nfiles=1000
set $meandirwidth=20
set $filesize=16k
set $nthreads=1
set $iosize=1m
set mode quit firstdone

define fileset name=original,path=$dir,entries=$nfiles,size=$filesize,dirwidth=$meandirwidth,prealloc,paralloc
define fileset name=copy,path=$dir,entries=$nfiles,size=$filesize,dirwidth=$meandirwidth

define process name=copying
{
  thread name=copier,instances=$nthreads,memsize=10m
  {
    flowop openfile name=open,filesetname=original,fd=1
    flowop readwholefile name=read,fd=1,iosize=$iosize
    flowop createfile name=make,filesetname=copy,fd=2
    flowop writewholefile name=write,fd=2,srcfd=1,iosize=$iosize
    flowop closefile name=read-close,fd=1
    flowop closefile name=write-close,fd=2
  }
}

run
