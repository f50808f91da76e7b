# A network file server's clients: they start a program, edit files by writing new ones, and append; sizes come from
# tables, a few files are used much more than others, and events set the pace.
set $dir=/tmp
set $nfiles=100000
set $meandirwidth=20
set $nthreads=1
set $eventrate=10
set $runtime=60
set $wrtiosize=randvar(min=1k,type=tabular,round=1k,randtable={{50,9k,15k},{14,17k,23k},{14,33k,39k},{12,65k,71k},{10,129k,135k}})
set $rdiosize=randvar(min=8k,type=tabular,round=1k,randtable={{85,8k,8k},{8,17k,23k},{4,33k,39k},{2,65k,71k},{1,129k,135k}})
set $filesize=randvar(min=1k,type=tabular,round=1k,randtable={{33,1k,1k},{21,1k,3k},{13,3k,5k},{10,5k,11k},{8,11k,21k},{5,21k,43k},{4,43k,85k},{3,85k,171k},{2,171k,341k},{1,341k,1707k}})
set $fileidx=randvar(type=gamma,min=0,gamma=100)

eventgen rate=$eventrate

define fileset name=shares,path=$dir,entries=$nfiles,size=$filesize,dirwidth=$meandirwidth,prealloc=60

define flowop name=start
{
  flowop openfile name=first,filesetname=shares,fd=3,indexed=$fileidx
  flowop readwholefile name=first-read,fd=3,iosize=$rdiosize
  flowop openfile name=second,filesetname=shares,fd=4,indexed=$fileidx
  flowop readwholefile name=second-read,fd=4,iosize=$rdiosize
  flowop closefile name=first-close,fd=3
  flowop openfile name=third,filesetname=shares,fd=5,indexed=$fileidx
  flowop readwholefile name=third-read,fd=5,iosize=$rdiosize
  flowop closefile name=second-close,fd=4
  flowop closefile name=third-close,fd=5
}

define flowop name=edit
{
  flowop openfile name=old,filesetname=shares,fd=1,indexed=$fileidx
  flowop readwholefile name=old-read,fd=1,iosize=$rdiosize
  flowop createfile name=new,filesetname=shares,fd=2,indexed=$fileidx
  flowop writewholefile name=new-write,fd=2,srcfd=1,iosize=$wrtiosize
  flowop closefile name=old-close,fd=1
  flowop closefile name=new-close,fd=2
  flowop deletefile name=old-delete,filesetname=shares,fd=1
}

define flowop name=add
{
  flowop openfile name=open,filesetname=shares,fd=6,indexed=$fileidx
  flowop appendfilerand name=append,fd=6,iosize=$wrtiosize
  flowop closefile name=close,fd=6
}

define process name=clients
{
  thread name=user,instances=$nthreads,memsize=10m
  {
    flowop start name=start
    flowop edit name=edit,iters=6
    flowop add name=add,iters=3
    flowop statfile name=stat,filesetname=shares,indexed=$fileidx
    flowop eventlimit name=pace
  }
}

run $runtime
