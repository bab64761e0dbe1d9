import type { CostEndpoint } from './requests.ts'

/** A message through a running gateway, or `delivery`: what an answer by ActivityPub costs beyond a silent turn. */
export type CostPath = CostEndpoint | 'delivery'

/** How messages come: each after the one before it is settled, or 64 in the same moment. */
export type Company = 'alone' | 'together'

/**
 * What is counted for each message. `kibibytes`: what the log of SQLite and the folder of files grow by. `rounds`: how
 * often the gateway waits for a PostgreSQL server.
 */
export type CostKind = 'statements' | 'commits' | 'kibibytes' | 'promises' | 'rounds'

export interface Ceiling {
  readonly company: Company
  readonly kind: CostKind
  readonly ceilings: Readonly<Record<CostPath, number>>
  /** Where the figures have to come down to. */
  readonly aims?: Partial<Readonly<Record<CostPath, number>>>
  /** Share of the ceiling below which a figure asks for a lower ceiling. */
  readonly floor: number
}

/** What one message does by itself is the same each time; what depends on how messages meet varies. */
const [steady, loose] = [0.8, 0.6]
/** How many share a commit, or a way to PostgreSQL, depends on how fast they come; who waits for a turn looks again after a second. */
const timed = 0.15
/** On a quick machine all of a wave go one way together. */
const shared = 0.05
const statementAims = { activitypub: 6, a2a: 7, delivery: 3 }
const forMessages = (aim: number) => ({ activitypub: aim, a2a: aim, email: aim, web: aim })

/**
 * Today's figures, rounded up; those with the floors `timed` and `shared` as a slow machine has them, and no other depends on its speed. A
 * change that makes a message cheaper lowers the number here; a change that makes it dearer has to say why.
 */
export const ceilings: readonly Ceiling[] = [
  {
    company: 'alone',
    kind: 'statements',
    ceilings: { activitypub: 11.5, a2a: 19.5, email: 18.5, web: 31.5, delivery: 9.5 },
    aims: statementAims,
    floor: steady,
  },
  {
    company: 'together',
    kind: 'statements',
    ceilings: { activitypub: 11, a2a: 17, email: 19, web: 31, delivery: 15 },
    aims: statementAims,
    floor: loose,
  },
  {
    company: 'alone',
    kind: 'commits',
    ceilings: { activitypub: 2.2, a2a: 2.2, email: 2.2, web: 3.2, delivery: 1.2 },
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
    ceilings: { activitypub: 88, a2a: 166, email: 92, web: 198, delivery: 110 },
    floor: steady,
  },
  {
    company: 'together',
    kind: 'kibibytes',
    // Each commit writes its pages anew, so this goes with the ceilings of commits above. Deliveries that begin at once end in more commits.
    ceilings: { activitypub: 14, a2a: 22, email: 18, web: 24, delivery: 44 },
    aims: forMessages(12),
    floor: timed,
  },
  {
    company: 'alone',
    kind: 'promises',
    ceilings: { activitypub: 135, a2a: 153, email: 220, web: 206, delivery: 140 },
    aims: forMessages(40),
    floor: steady,
  },
  {
    company: 'together',
    kind: 'promises',
    ceilings: { activitypub: 148, a2a: 168, email: 235, web: 220, delivery: 180 },
    aims: forMessages(40),
    floor: loose,
  },
  {
    company: 'alone',
    kind: 'rounds',
    ceilings: { activitypub: 11, a2a: 9, email: 13, web: 31, delivery: 9 },
    aims: forMessages(4),
    floor: timed,
  },
  {
    company: 'together',
    kind: 'rounds',
    ceilings: { activitypub: 1.5, a2a: 1, email: 5, web: 3, delivery: 5 },
    aims: forMessages(0.2),
    floor: shared,
  },
]

/** What is wrong with the figures, or with the ceiling that they have left behind; a sentence each. */
export function findCostFaults(
  { company, kind, ceilings: limits, floor }: Ceiling,
  figures: Readonly<Record<CostPath, number>>,
): readonly string[] {
  return (Object.keys(limits) as CostPath[]).flatMap(path => {
    const [limit, figure] = [limits[path], figures[path]]
    const found = `${path}, ${company}: ${figure.toFixed(2)} ${kind} a message`
    if (!(figure <= limit)) return [`${found}, and the ceiling is ${limit}. Make it cheaper, or say why it costs more.`]
    return figure < limit * floor ? [`${found}, far below the ceiling ${limit}. Lower the ceiling in ceilings.ts.`] : []
  })
}
