import type { OperatorApproval, RequirementRecord, RequirementStore } from '@postern/core'
import {
  describeObjection,
  isForOperator,
  isoTime,
  operatorSubject,
  Rejection,
  readApproval,
  readRemember,
} from '@postern/core'
import type { Requirements } from '@postern/requirements'
import type { OperationAnswer, OperationRequest, OperatorRoute } from '../../api/operation.ts'
import { handleOperation, requireFound } from '../../api/operation.ts'
import { containsText, filterPage, isWithin } from '../../api/page.ts'
import type { ListedRequirement } from './operations.ts'
import { requirementOperations } from './operations.ts'

export interface RequirementRouteOptions {
  readonly store: RequirementStore
  readonly requirements: Pick<Requirements, 'decide' | 'approvals'>
}

/** What agents wait for, and the operator's word on it. Never what a person would decide by. */
export function createRequirementRoutes({ store, requirements }: RequirementRouteOptions): readonly OperatorRoute[] {
  const find = async (id: string, doing: string) =>
    requireFound(await store.findRequirement({ id }), `Cannot ${doing}: there is no such requirement`)

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
      const requirement = await find(parameters.id, 'show')
      const approval = await requirements.approvals.find(requirement.id)
      return { ...describeRequirement(requirement), ...describeCall(approval) }
    }),
    handleOperation(requirementOperations.decide, async ({ parameters, body }) => {
      const requirement = await find(parameters.id, 'decide')
      return describeRequirement(await decideRequirement(requirement, body, requirements))
    }),
  ]
}

type DecisionBody = OperationRequest<typeof requirementOperations.decide>['body']

/** @throws Rejection `malformed`, `forbidden` */
async function decideRequirement(
  requirement: RequirementRecord,
  { outcome, arguments: args, remember: wanted }: DecisionBody,
  requirements: RequirementRouteOptions['requirements'],
): Promise<RequirementRecord> {
  const remember = readRemember(wanted, requirement)
  const approval = await requirements.approvals.find(requirement.id)
  if (!approval && args !== undefined) {
    throw new Rejection('malformed', 'Cannot decide: there are no arguments to change')
  }
  const isGranted = outcome === 'granted'
  const resolved = approval
    ? await requirements.approvals.decide(approval, { method: 'operator', isGranted, args, remember })
    : await requirements.decide(requirement, { method: 'operator', outcome, remember })
  if (resolved.outcome === 'refused') {
    throw new Rejection('forbidden', `Cannot decide: ${describeObjection(resolved.reason)}`)
  }
  return resolved.requirement
}

type RequirementFilter = OperationRequest<typeof requirementOperations.list>['query']

function selectRequirement(requirement: RequirementRecord, filter: RequirementFilter): ListedRequirement | undefined {
  const listed = describeRequirement(requirement)
  const { policy } = requirement
  const isWanted =
    (['agent', 'state', 'approver'] as const).every(
      name => filter[name] === undefined || listed[name] === filter[name],
    ) &&
    (filter.channel === undefined || listed.via === filter.channel) &&
    containsText(listed.address, filter.sender) &&
    containsText(readApproval(policy)?.summary ?? policy.message, filter.text) &&
    isWithin(requirement.issuedAt, filter)
  return isWanted ? listed : undefined
}

/** Without the digest: with it somebody could try states elsewhere. */
function describeRequirement(requirement: RequirementRecord): ListedRequirement {
  const { place, id, agent, via, message, kind, address, policy, status, resolver } = requirement
  const { issuedAt, expiresAt, resolvedAt } = requirement
  return {
    place,
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
