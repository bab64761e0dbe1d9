// Measures the costs of a message on each path through a gateway.
import type { Company, CostKind, CostPath } from './ceilings.ts'
import type { CountedProcess } from './counted-process.ts'
import type { MessageCost } from './measure.ts'
import { measureCost } from './measure.ts'

export type PathCosts = Readonly<Record<CostPath, MessageCost>>

/** A channel whose peer waits for the answer gets one; the others send to an agent that answers nothing. */
const traffic = [
  { name: 'activitypub', endpoint: 'activitypub', agent: 'silent' },
  { name: 'a2a', endpoint: 'a2a', agent: 'brief' },
  { name: 'email', endpoint: 'email', agent: 'silent' },
  { name: 'web', endpoint: 'web', agent: 'brief' },
  { name: 'answered', endpoint: 'activitypub', agent: 'brief' },
] as const

type TrafficName = (typeof traffic)[number]['name']

/** Measures the costs of a message on each path, alone and together with others. */
export async function measurePathCosts(gateway: CountedProcess): Promise<Readonly<Record<Company, PathCosts>>> {
  const measure = async (company: Company): Promise<PathCosts> => {
    const costs = new Map<TrafficName, MessageCost>()
    for (const { name, ...messages } of traffic) costs.set(name, await measureCost(gateway, { ...messages, company }))
    return nameCosts(Object.fromEntries(costs) as Record<TrafficName, MessageCost>)
  }
  return { alone: await measure('alone'), together: await measure('together') }
}

function nameCosts({ answered: answeredCosts, ...costs }: Readonly<Record<TrafficName, MessageCost>>): PathCosts {
  return { ...costs, delivery: subtract(answeredCosts, costs.activitypub) }
}

function subtract(cost: MessageCost, otherCost: MessageCost): MessageCost {
  return {
    statements: cost.statements - otherCost.statements,
    commits: cost.commits - otherCost.commits,
    kibibytes: cost.kibibytes - otherCost.kibibytes,
    promises: cost.promises - otherCost.promises,
    rounds: cost.rounds - otherCost.rounds,
  }
}

/** Selects one figure of each path. */
export function selectKind(
  { activitypub, a2a, email, web, delivery }: PathCosts,
  kind: CostKind,
): Readonly<Record<CostPath, number>> {
  return {
    activitypub: activitypub[kind],
    a2a: a2a[kind],
    email: email[kind],
    web: web[kind],
    delivery: delivery[kind],
  }
}
