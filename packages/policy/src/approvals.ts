import type {
  ApprovalCall,
  DemandRecord,
  Json,
  OperatorApproval,
  OperatorApprovals,
  OperatorWord,
  Resolved,
} from '@postern/core'
import { isForOperator, operatorSubject, Rejection } from '@postern/core'
import type { Deciding } from './decide.ts'
import { decideDemand } from './decide.ts'

/** The call that a demand is about, whole; undefined when it is about something else. */
export type FindCall = (demand: DemandRecord) => Promise<ApprovalCall | undefined>

/** So much of what others wait for is looked through for one agent's. */
const pageSize = 100

export function createOperatorApprovals(deciding: Deciding, findCall: FindCall): OperatorApprovals {
  const { desk } = deciding
  const withCall = async (demand: DemandRecord): Promise<OperatorApproval> => ({ demand, call: await findCall(demand) })

  async function listOpen(limit: number, after: number | undefined, agent: string | undefined) {
    const found: DemandRecord[] = []
    for (let place = after; found.length < limit; ) {
      const page = { status: 'open', subject: operatorSubject, limit: pageSize, after: place } as const
      const demands = await desk.listDemands(page)
      found.push(...demands.filter(demand => agent === undefined || demand.agent === agent))
      if (demands.length < pageSize) break
      place = demands.at(-1)?.place
    }
    return found.slice(0, limit)
  }

  return {
    async list({ limit, after, agent }) {
      return Promise.all((await listOpen(limit, after, agent)).map(withCall))
    },
    async find(id) {
      const demand = await desk.findDemand({ id })
      return demand && isForOperator(demand.policy) ? withCall(demand) : undefined
    },
    decide: (approval, word) => decideApproval(approval, word, deciding),
  }
}

async function decideApproval(
  { demand, call }: OperatorApproval,
  { method, isGranted, args, subject }: OperatorWord,
  deciding: Deciding,
): Promise<Resolved> {
  const edited = isGranted && args !== undefined ? readEdited(call, args) : undefined
  const outcome = isGranted ? 'granted' : 'declined'
  return decideDemand(demand, { method, outcome, subject, args: edited }, deciding)
}

/** Undefined where they are the call's own. @throws Rejection `malformed` */
function readEdited(call: ApprovalCall | undefined, args: Json): Json | undefined {
  if (!call) throw new Rejection('malformed', 'Cannot decide: there are no arguments to change')
  if (JSON.stringify(args) === JSON.stringify(call.args)) return undefined
  const fault = call.findFault(args)
  if (fault === undefined) return args
  throw new Rejection('malformed', `Cannot decide: the arguments are not those of "${call.tool}": ${fault}`, {
    violations: [{ field: 'arguments', description: fault }],
  })
}
