# Threads create files of one tree until it is full.
set $dir=/tmp
set $nfiles=50000
set $meandirwidth=100
set $filesize=16k
set $nthreads=16
set $iosize=1m
set mode quit firstdone

define fileset name=created,path=$dir,entries=$nfiles,size=$filesize,dirwidth=$meandirwidth

define process name=creating
{
  thread name=creator,instances=$nthreads,memsize=10m
  {
    flowop createfile name=make,filesetname=created,fd=1
    flowop writewholefile name=write,fd=1,iosize=$iosize
    flowop closefile name=close,fd=1
  }
}

run
