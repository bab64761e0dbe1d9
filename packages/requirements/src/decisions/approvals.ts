// Lists the tool calls that wait for an operator, and carries out the operator's decision.
import type { Json } from '@postern/message'
import { isForOperator, operatorSubject, Rejection } from '@postern/message'
import type {
  ApprovalCall,
  OperatorApproval,
  OperatorApprovals,
  OperatorDecision,
  RequirementRecord,
  ResolutionResult,
} from '@postern/pipeline'
import type { DecisionDeps } from './decide.ts'
import { decideRequirement } from './decide.ts'

/** Finds the complete call that a requirement is about, or returns undefined if the requirement is not about a call. */
export type FindCall = (requirement: RequirementRecord) => Promise<ApprovalCall | undefined>

const pageSize = 100
/** The maximum number of open requirements that are searched. */
const maxOpenApprovals = 5_000
/** The maximum length of changed arguments, characters of JSON. */
const maxArgsChars = 65_536

export function createOperatorApprovals(deps: DecisionDeps, findCall: FindCall): OperatorApprovals {
  const { store } = deps
  const addCall = async (requirement: RequirementRecord): Promise<OperatorApproval> => ({
    requirement,
    call: await findCall(requirement),
  })

  async function listOpenRequirements(agent: string | undefined): Promise<readonly RequirementRecord[]> {
    const openRequirements: RequirementRecord[] = []
    for (let afterNumber: number | undefined; openRequirements.length < maxOpenApprovals; ) {
      const page = { status: 'open', subject: operatorSubject, limit: pageSize, after: afterNumber } as const
      const requirements = await store.listRequirements(page)
      openRequirements.push(...requirements)
      if (requirements.length < pageSize) break
      afterNumber = requirements.at(-1)?.number
    }
    return openRequirements.filter(requirement => agent === undefined || requirement.agent === agent)
  }

  return {
    // The approval that has waited longest is listed first, even if many newer approvals exist.
    list: async ({ limit, agent }) =>
      Promise.all((await listOpenRequirements(agent)).toReversed().slice(0, limit).map(addCall)),
    async find(id) {
      const requirement = await store.findRequirement({ id })
      return requirement && isForOperator(requirement.policy) ? addCall(requirement) : undefined
    },
    decide: (approval, decision) => decideApproval(approval, decision, deps),
  }
}

async function decideApproval(
  { requirement, call }: OperatorApproval,
  { method, isGranted, args, subject, remember }: OperatorDecision,
  deps: DecisionDeps,
): Promise<ResolutionResult> {
  const editedArgs = isGranted && args !== undefined ? readEditedArgs(call, args) : undefined
  if (editedArgs !== undefined && remember) {
    throw new Rejection(
      'malformed',
      'Cannot decide: a decision with changed arguments counts once and cannot be remembered',
    )
  }
  const outcome = isGranted ? 'granted' : 'declined'
  return decideRequirement(requirement, { method, outcome, subject, args: editedArgs, remember }, deps)
}

/**
 * Reads changed arguments, or returns undefined if they are the same as those of the call.
 * @throws Rejection `malformed`
 */
function readEditedArgs(call: ApprovalCall | undefined, args: Json): Json | undefined {
  if (!call) throw new Rejection('malformed', 'Cannot decide: there are no arguments to change')
  const text = JSON.stringify(args)
  if (text === JSON.stringify(call.args)) return undefined
  if (text.length > maxArgsChars) throw new Rejection('too_large', 'Cannot decide: the arguments are too long')
  const errorText = call.findFault(args)
  if (errorText === undefined) return args
  throw new Rejection('malformed', `Cannot decide: the arguments are not those of "${call.tool}": ${errorText}`, {
    violations: [{ field: 'arguments', description: errorText }],
  })
}
