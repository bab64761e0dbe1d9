// Measures outgoing mail to one smarthost, compared with nodemailer.
import { nodeFlags } from 'postern/launch'
import { pairWithEarlierCommit } from '../earlier/pairs.ts'
import type { SendingServer } from '../harness/senders.ts'
import { raceSenders } from '../harness/senders.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'

const nodemailer = new URL('./nodemailer.ts', import.meta.url)

/** The servers of the comparison. The first one is the reference. */
const peers: readonly SendingServer[] = [
  {
    name: 'Postern',
    note: "stored mail answered: from the agent's turn to the delivery settled in the store; text and HTML, signed twice, an envelope sender of its own",
    entry: new URL('./ours.ts', import.meta.url),
    nodeFlags,
  },
  {
    name: 'nodemailer + mailauth',
    note: 'the same mail, signed twice, over a pool of connections; in memory',
    entry: nodemailer,
    extraSetup: { isSigned: true },
  },
  {
    name: 'nodemailer alone',
    note: 'the same, not signed',
    entry: nodemailer,
    extraSetup: { isSigned: false },
  },
]

/** The largest number of mails that warm a sender up, because two signatures for each take time. */
const maxWarmUp = 4_000

/** Measures mails to one smarthost, which is another process on loopback. */
export function probeMailOut(options: ProbeOptions): Promise<readonly Figure[]> {
  const { rounds, quick, warmUp, earlier } = options
  const count = quick ? 300 : 1_000
  let orders = 0
  const race = {
    title: 'Mail out',
    unit: 'mails',
    senders: earlier ? pairWithEarlierCommit(peers.slice(0, 1), earlier) : peers,
    sink: new URL('./sink.ts', import.meta.url),
    warmUps: Math.ceil(Math.min(warmUp, maxWarmUp) / count),
    rounds,
    count,
    nextOrder: () => ({ first: orders++ * count, count }),
  }
  return raceSenders(race, options)
}
