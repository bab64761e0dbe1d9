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

/** What depends on how messages meet varies more than what one message does by itself. */
const [steady, varying] = [0.8, 0.5]
const statementAims = { activitypub: 6, a2a: 7, delivery: 3 }
const forMessages = (aim: number) => ({ activitypub: aim, a2a: aim, email: aim, web: aim })

/**
 * Today's figures, rounded up. None of them depends on the speed of the machine. A change that makes a message cheaper
 * lowers the number here; a change that makes it dearer has to say why.
 */
export const ceilings: readonly Ceiling[] = [
  {
    company: 'alone',
    kind: 'statements',
    ceilings: { activitypub: 23, a2a: 32, email: 34, web: 47, delivery: 17 },
    aims: statementAims,
    floor: steady,
  },
  {
    company: 'together',
    kind: 'statements',
    ceilings: { activitypub: 14.5, a2a: 22.5, email: 26, web: 36, delivery: 14 },
    aims: statementAims,
    floor: steady,
  },
  {
    company: 'alone',
    kind: 'commits',
    ceilings: { activitypub: 4.2, a2a: 4.2, email: 4.2, web: 4.2, delivery: 2.2 },
    floor: steady,
  },
  {
    company: 'together',
    kind: 'commits',
    ceilings: { activitypub: 0.16, a2a: 0.16, email: 0.25, web: 0.17, delivery: 1.3 },
    floor: varying,
  },
  {
    company: 'alone',
    kind: 'kibibytes',
    ceilings: { activitypub: 107, a2a: 200, email: 110, web: 236, delivery: 124 },
    floor: steady,
  },
  {
    company: 'together',
    kind: 'kibibytes',
    ceilings: { activitypub: 10.7, a2a: 18, email: 22, web: 21, delivery: 40 },
    aims: forMessages(12),
    floor: varying,
  },
  {
    company: 'alone',
    kind: 'promises',
    ceilings: { activitypub: 192, a2a: 222, email: 277, web: 292, delivery: 206 },
    aims: forMessages(40),
    floor: steady,
  },
  {
    company: 'together',
    kind: 'promises',
    ceilings: { activitypub: 172, a2a: 200, email: 250, web: 275, delivery: 180 },
    aims: forMessages(40),
    floor: steady,
  },
  {
    company: 'alone',
    kind: 'rounds',
    ceilings: { activitypub: 31, a2a: 36, email: 33, web: 67, delivery: 16 },
    aims: forMessages(4),
    floor: steady,
  },
  {
    company: 'together',
    kind: 'rounds',
    ceilings: { activitypub: 21, a2a: 32, email: 24, web: 65, delivery: 12 },
    aims: forMessages(0.2),
    floor: varying,
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
