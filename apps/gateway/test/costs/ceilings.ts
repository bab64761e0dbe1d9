// Lists the highest accepted costs of a message, and finds figures that exceed them.
import type { CostEndpoint } from './requests.ts'

/** The path of a message through a running gateway. `delivery` is the cost of an answer by ActivityPub beyond a silent turn. */
export type CostPath = CostEndpoint | 'delivery'

/** The traffic: each message after the one before it is settled, or 64 at the same moment. */
export type Company = 'alone' | 'together'

/**
 * The counts for each message. `kibibytes` is the growth of SQLite's log and of the folder of files, and `rounds` the number of waits for a
 * PostgreSQL server.
 */
export type CostKind = 'statements' | 'commits' | 'kibibytes' | 'promises' | 'rounds'

export interface Ceiling {
  readonly company: Company
  readonly kind: CostKind
  readonly ceilings: Readonly<Record<CostPath, number>>
  /** The target figures for the costs; absent if there are none. */
  readonly aims?: Partial<Readonly<Record<CostPath, number>>>
  /** The share of the ceiling below which a figure asks for a lower ceiling. */
  readonly floor: number
}

/** The floors. The costs of a single message are the same each time; those of concurrent messages vary. */
const [steady, loose] = [0.8, 0.6]
/**
 * The floor for figures that depend on speed: how many messages share a commit or a round trip to PostgreSQL. Waiting turns poll again after a
 * second.
 */
const timed = 0.15
/** On a fast machine, all messages of a wave share one round trip. */
const sharedShare = 0.05
const statementAims = { activitypub: 6, a2a: 7, delivery: 3 }
const forMessages = (ceiling: number) => ({ activitypub: ceiling, a2a: ceiling, email: ceiling, web: ceiling })

/**
 * Today's figures, rounded up. Those with the floors `timed` and `sharedShare` are a slow machine's; no other figure depends on speed. A change
 * that makes a message cheaper must lower its figure, and one that makes it more expensive must give the reason.
 */
export const ceilings: readonly Ceiling[] = [
  {
    company: 'alone',
    kind: 'statements',
    ceilings: { activitypub: 7.5, a2a: 13.5, email: 11.5, web: 23.5, delivery: 7.5 },
    aims: statementAims,
    floor: steady,
  },
  {
    company: 'together',
    kind: 'statements',
    ceilings: { activitypub: 8, a2a: 13.5, email: 12.5, web: 22, delivery: 13 },
    aims: statementAims,
    floor: loose,
  },
  {
    company: 'alone',
    kind: 'commits',
    ceilings: { activitypub: 1.1, a2a: 1.1, email: 1.1, web: 2.2, delivery: 1.2 },
    floor: steady,
  },
  {
    company: 'together',
    kind: 'commits',
    ceilings: { activitypub: 0.3, a2a: 0.3, email: 0.3, web: 0.3, delivery: 1.3 },
    floor: timed,
  },
  {
    company: 'alone',
    kind: 'kibibytes',
    // A new thread costs one page more, because agents reply in conversations that they name, and those have an index by their ids.
    ceilings: { activitypub: 55, a2a: 100, email: 60, web: 203, delivery: 100 },
    floor: steady,
  },
  {
    company: 'together',
    kind: 'kibibytes',
    // Each commit rewrites its pages, so this depends on the ceilings of commits above. Deliveries that begin at once end in more commits.
    ceilings: { activitypub: 14, a2a: 22, email: 18, web: 24, delivery: 44 },
    aims: forMessages(12),
    floor: timed,
  },
  {
    company: 'alone',
    kind: 'promises',
    // The named steps of a proof and of a turn cost three to eight. An A2A caller that waits on a busy machine costs one or two more.
    ceilings: { activitypub: 77, a2a: 109, email: 172, web: 122, delivery: 126 },
    aims: forMessages(40),
    floor: steady,
  },
  {
    company: 'together',
    kind: 'promises',
    // On a busy machine fewer deliveries share a poll, which costs each of them a few promises more.
    ceilings: { activitypub: 80, a2a: 112, email: 184, web: 130, delivery: 170 },
    aims: forMessages(40),
    floor: loose,
  },
  {
    company: 'alone',
    kind: 'rounds',
    // These figures do not depend on speed, because each is that of the wave with the fewest round trips.
    ceilings: { activitypub: 4, a2a: 4, email: 5, web: 9, delivery: 4 },
    aims: forMessages(4),
    floor: loose,
  },
  {
    company: 'together',
    kind: 'rounds',
    ceilings: { activitypub: 1.5, a2a: 1, email: 5, web: 3, delivery: 5 },
    aims: forMessages(0.2),
    floor: sharedShare,
  },
]

/** Returns a sentence for each figure that exceeds its ceiling, and for each ceiling that is now too high. */
export function findCostFaults(
  { company, kind, ceilings: limits, floor }: Ceiling,
  figures: Readonly<Record<CostPath, number>>,
): readonly string[] {
  return (Object.keys(limits) as CostPath[]).flatMap(path => {
    const [limit, figure] = [limits[path], figures[path]]
    const cost = `${path}, ${company}: ${figure.toFixed(2)} ${kind} a message`
    if (!(figure <= limit)) return [`${cost}, and the ceiling is ${limit}. Make it cheaper, or say why it costs more.`]
    return figure < limit * floor ? [`${cost}, far below the ceiling ${limit}. Lower the ceiling in ceilings.ts.`] : []
  })
}
