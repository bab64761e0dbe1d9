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

const pageSize = 100
/** More are not looked through. */
const mostOpen = 5_000
/** Of changed arguments, characters of JSON. */
const longestArgs = 65_536

export function createOperatorApprovals(deciding: Deciding, findCall: FindCall): OperatorApprovals {
  const { desk } = deciding
  const withCall = async (demand: DemandRecord): Promise<OperatorApproval> => ({ demand, call: await findCall(demand) })

  async function listOpen(agent: string | undefined): Promise<readonly DemandRecord[]> {
    const found: DemandRecord[] = []
    for (let after: number | undefined; found.length < mostOpen; ) {
      const page = { status: 'open', subject: operatorSubject, limit: pageSize, after } as const
      const demands = await desk.listDemands(page)
      found.push(...demands)
      if (demands.length < pageSize) break
      after = demands.at(-1)?.place
    }
    return found.filter(demand => agent === undefined || demand.agent === agent)
  }

  return {
    // Who has waited longest stands first, however many come behind him.
    list: async ({ limit, agent }) => Promise.all((await listOpen(agent)).toReversed().slice(0, limit).map(withCall)),
    async find(id) {
      const demand = await desk.findDemand({ id })
      return demand && isForOperator(demand.policy) ? withCall(demand) : undefined
    },
    decide: (approval, word) => decideApproval(approval, word, deciding),
  }
}

async function decideApproval(
  { demand, call }: OperatorApproval,
  { method, isGranted, args, subject, remember }: OperatorWord,
  deciding: Deciding,
): Promise<Resolved> {
  const edited = isGranted && args !== undefined ? readEdited(call, args) : undefined
  if (edited !== undefined && remember) {
    throw new Rejection('malformed', 'Cannot decide: what is changed first counts once, and is not remembered')
  }
  const outcome = isGranted ? 'granted' : 'declined'
  return decideDemand(demand, { method, outcome, subject, args: edited, remember }, deciding)
}

/** Undefined where they are the call's own. @throws Rejection `malformed` */
function readEdited(call: ApprovalCall | undefined, args: Json): Json | undefined {
  if (!call) throw new Rejection('malformed', 'Cannot decide: there are no arguments to change')
  const text = JSON.stringify(args)
  if (text === JSON.stringify(call.args)) return undefined
  if (text.length > longestArgs) throw new Rejection('too_large', 'Cannot decide: the arguments are too long')
  const fault = call.findFault(args)
  if (fault === undefined) return args
  throw new Rejection('malformed', `Cannot decide: the arguments are not those of "${call.tool}": ${fault}`, {
    violations: [{ field: 'arguments', description: fault }],
  })
}
