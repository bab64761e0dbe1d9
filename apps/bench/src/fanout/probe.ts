// Measures the delivery of one post to a thousand inboxes.
import { nodeFlags } from 'postern/launch'
import { rows } from '../aims/rows.ts'
import { pairWithEarlierCommit } from '../earlier/pairs.ts'
import type { SendingServer } from '../harness/senders.ts'
import { raceSenders } from '../harness/senders.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'

const inboxes = 1_000
const maxRounds = 3

/** The senders of the comparison. The first one is the reference. */
const senders: readonly SendingServer[] = [
  {
    name: 'Postern',
    note: 'a post of an agent to all who follow it: from its turn to the last delivery settled in the store; the document with its own proof',
    entry: new URL('./ours.ts', import.meta.url),
    nodeFlags,
  },
  {
    name: 'Fedify 2.3.6',
    note: 'sendActivity() with a parallel queue in memory; one knock each, RSA-2048',
    entry: new URL('./fedify.ts', import.meta.url),
    ...rows.fanoutAgainstFedify,
  },
  {
    name: 'floor: sign and POST',
    note: 'one RSA-2048 signature in the thread pool and one POST by node:http over kept connections each; nothing else',
    entry: new URL('./floor.ts', import.meta.url),
    ...rows.fanoutAgainstFloor,
  },
]

/** Measures one post to a thousand inboxes on a thousand hosts, all of them in another process on loopback. */
export function probeFanout(options: ProbeOptions): Promise<readonly Figure[]> {
  const { rounds, warmUp, earlier } = options
  let serial = Date.now()
  const race = {
    title: 'Fan-out',
    unit: 'deliveries',
    senders: earlier ? pairWithEarlierCommit(senders.slice(0, 1), earlier) : senders,
    sink: new URL('./sink.ts', import.meta.url),
    setup: { count: inboxes },
    warmUps: Math.ceil(warmUp / inboxes),
    rounds: earlier ? rounds : Math.min(rounds, maxRounds),
    count: inboxes,
    nextOrder: () => ({ serial: String(serial++) }),
  }
  return raceSenders(race, options)
}
