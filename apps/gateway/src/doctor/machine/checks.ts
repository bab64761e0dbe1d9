import type { MachineCheck } from '../check.ts'
import { about } from '../check.ts'
import { checkHttpClock, checkNtpClock } from './clock.ts'
import { checkDataPermissions } from './permissions.ts'
import { judgeDisk, judgeMemory, judgeNode } from './resources.ts'

const keepTime = 'Let the machine keep its time by NTP (systemd-timesyncd or chrony).'

/** What the gateway stands on. */
export const machineOnlyChecks: readonly MachineCheck[] = [
  {
    id: 'machine.node',
    group: 'machine',
    what: 'The version of Node is one that the gateway runs on, with long-term support.',
    fix: 'Install a supported version of Node.',
    needs: [],
    run: ({ facts }) => about('Node', judgeNode(facts.nodeVersion)),
  },
  {
    id: 'machine.memory',
    group: 'machine',
    what: 'There is enough memory, and Node does not expect more than there is.',
    fix: 'Give the machine or the container 512 MiB or more.',
    needs: [],
    run: ({ facts }) => about('memory', judgeMemory(facts.readMemory())),
  },
  {
    id: 'machine.disk',
    group: 'machine',
    what: 'The disk of the data folder has space for bytes and files.',
    fix: 'Free space on the disk, or move `data` to a larger one.',
    needs: [],
    run: ({ facts, directory }) => about(directory, judgeDisk(facts.readDisk(directory))),
  },
  {
    id: 'machine.permissions',
    group: 'machine',
    what: 'Nobody else on the machine may read the keys in the data folder, or put files there.',
    fix: 'Run `chmod 700` on the data folder.',
    needs: [],
    run: checkDataPermissions,
  },
  {
    id: 'machine.clock',
    group: 'machine',
    what: 'The clock agrees with the `Date` header of several web sites, to a minute.',
    fix: keepTime,
    needs: [],
    run: checkHttpClock,
  },
  {
    id: 'machine.time_server',
    group: 'machine',
    what: 'The clock agrees with a time server (NTP), to a minute.',
    fix: keepTime,
    needs: [],
    run: checkNtpClock,
  },
]
