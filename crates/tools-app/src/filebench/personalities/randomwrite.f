# One thread overwrites blocks of a large file at random places.
set $dir=/tmp
set $filesize=5g
set $iosize=8k
set $nthreads=1
set $workingset=0
set $directio=0
set $runtime=60

define file name=data,path=$dir,size=$filesize,prealloc,reuse,paralloc

define process name=writers
{
  thread name=writer,instances=$nthreads,memsize=5m
  {
    flowop write name=write,filename=data,iosize=$iosize,random,workingset=$workingset,directio=$directio
  }
}

run $runtime
