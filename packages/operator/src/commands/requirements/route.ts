// Lists and decides requirements of agents, in the operator's API.
import type { System } from '@postern/message'
import { isForOperator, isoTime, operatorSubject, Rejection, randomHex, readApproval } from '@postern/message'
import type {
  OperatorApproval,
  OperatorApprovals,
  RequirementDecision,
  RequirementRecord,
  RequirementStore,
  RerunResult,
  ResolutionResult,
} from '@postern/pipeline'
import { describeObjection, readRemember } from '@postern/pipeline'
import type { OperationAnswer, OperationRequest, OperatorRoute } from '../../api/operation.ts'
import { handleOperation, requireFound } from '../../api/operation.ts'
import { containsText, filterPage, isWithin } from '../../api/page.ts'
import type { ListedRequirement } from './operations.ts'
import { requirementOperations } from './operations.ts'

/** Decides requirements of agents. */
interface RequirementDeciding {
  readonly approvals: OperatorApprovals
  /** Decides a requirement. @throws Rejection `forbidden` if an operator may not grant it */
  decide(
    requirement: RequirementRecord,
    plan: Pick<RequirementDecision, 'outcome' | 'remember'> & { readonly method: 'operator' },
  ): Promise<ResolutionResult>
}

export interface RequirementRouteDeps {
  readonly store: RequirementStore
  readonly requirements: RequirementDeciding
  readonly system: Pick<System, 'randomBytes'>
}

/** Creates the routes. No answer contains the code by which a person decides. */
export function createRequirementRoutes({
  store,
  requirements,
  system,
}: RequirementRouteDeps): readonly OperatorRoute[] {
  const findRequirement = async (id: string, task: string) =>
    requireFound(await store.findRequirement({ id }), `Cannot ${task}: there is no such requirement`)

  return [
    handleOperation(requirementOperations.list, ({ query }) => {
      const subject = query.approver === 'operator' ? operatorSubject : undefined
      return filterPage(
        query,
        page => store.listRequirements({ ...page, subject }),
        requirement => selectRequirement(requirement, query),
      )
    }),
    handleOperation(requirementOperations.find, async ({ parameters }) => {
      const requirement = await findRequirement(parameters.id, 'show')
      const approval = await requirements.approvals.find(requirement.id)
      return { ...describeRequirement(requirement), ...describeCall(approval) }
    }),
    handleOperation(requirementOperations.decide, async ({ parameters, body }) => {
      const requirement = await findRequirement(parameters.id, 'decide')
      return describeRequirement(await decideRequirement(requirement, body, requirements))
    }),
    handleOperation(requirementOperations.rerun, async ({ parameters }) => {
      const { id } = await findRequirement(parameters.id, 'run again')
      const rerun = await store.rerunDecision(id, randomHex(system, 8))
      if (rerun.outcome === 'admitted') return { id, message: rerun.message, has_ended_task: rerun.hasEndedTask }
      throw new Rejection('forbidden', `Cannot run again: ${rerunRefusals[rerun.reason]}`)
    }),
  ]
}

const rerunRefusals: Readonly<Record<Extract<RerunResult, { outcome: 'refused' }>['reason'], string>> = {
  undecided: 'nobody has decided yet',
  running: 'the turn of its decision still runs',
  done: 'the turn of its decision has not failed',
  full: 'the conversation has reached its storage limit',
}

type DecisionBody = OperationRequest<typeof requirementOperations.decide>['body']

/** Decides a requirement for the operator. @throws Rejection `malformed`, `forbidden` */
async function decideRequirement(
  requirement: RequirementRecord,
  { outcome, arguments: args, remember: requestedRemember }: DecisionBody,
  requirements: RequirementRouteDeps['requirements'],
): Promise<RequirementRecord> {
  const remember = readRemember(requestedRemember, requirement)
  const approval = await requirements.approvals.find(requirement.id)
  if (!approval && args !== undefined) {
    throw new Rejection('malformed', 'Cannot decide: there are no arguments to change')
  }
  const isGranted = outcome === 'granted'
  const resolution = approval
    ? await requirements.approvals.decide(approval, { method: 'operator', isGranted, args, remember })
    : await requirements.decide(requirement, { method: 'operator', outcome, remember })
  if (resolution.outcome === 'refused') {
    throw new Rejection('forbidden', `Cannot decide: ${describeObjection(resolution.reason)}`)
  }
  return resolution.requirement
}

type RequirementFilter = OperationRequest<typeof requirementOperations.list>['query']

function selectRequirement(requirement: RequirementRecord, filter: RequirementFilter): ListedRequirement | undefined {
  const view = describeRequirement(requirement)
  const { policy } = requirement
  const isMatch =
    (['agent', 'state', 'approver'] as const).every(
      name => filter[name] === undefined || view[name] === filter[name],
    ) &&
    (filter.channel === undefined || view.via === filter.channel) &&
    containsText(view.address, filter.sender) &&
    containsText(readApproval(policy)?.summary ?? policy.message, filter.text) &&
    isWithin(requirement.issuedAt, filter)
  return isMatch ? view : undefined
}

/** Leaves out the digest of the code, because a reader could use it to guess the code. */
function describeRequirement(requirement: RequirementRecord): ListedRequirement {
  const { number, id, agent, via, message, kind, address, policy, status, resolver } = requirement
  const { issuedAt, expiresAt, resolvedAt } = requirement
  return {
    number,
    id,
    agent,
    via,
    message,
    kind,
    address,
    approver: isForOperator(policy) ? 'operator' : 'sender',
    policy,
    state: status,
    issued_at: isoTime(issuedAt),
    expires_at: isoTime(expiresAt),
    ...(resolvedAt !== undefined && { resolved_at: isoTime(resolvedAt) }),
    ...(resolver && { resolver }),
  }
}

function describeCall(
  approval: OperatorApproval | undefined,
): Pick<OperationAnswer<typeof requirementOperations.find>, 'call'> {
  if (!approval?.call) return {}
  const { id, tool, agent, summary, args, schema } = approval.call
  return {
    call: { tool_call_id: id, tool, ...(agent && { agent }), summary, arguments: args, ...(schema && { schema }) },
  }
}
