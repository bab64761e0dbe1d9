import type { Json, OperatorApproval, RequirementRecord, RequirementStatus, RequirementStore } from '@postern/core'
import {
  describeObjection,
  isForOperator,
  isoTime,
  operatorSubject,
  Rejection,
  readRemember,
  resolutionOutcomes,
} from '@postern/core'
import type { Requirements } from '@postern/requirements'
import { Hono } from 'hono'
import { z } from 'zod'
import { readCursor, readOperatorRequest } from '../request.ts'

export interface RequirementRouteOptions {
  readonly store: RequirementStore
  readonly requirements: Pick<Requirements, 'decide' | 'approvals'>
}

const malformedDecision = 'Cannot decide: say "outcome", "granted" or "declined"'
const decisionSchema = z.strictObject({
  outcome: z.enum(resolutionOutcomes),
  /** What the call is to run with instead. */
  arguments: z.json().optional(),
  /** How far it counts for later calls of the tool. */
  remember: z.string().optional(),
})
const pageSize = 100
/** Arguments of a call may be deep. */
const maxDepth = 64

/** What agents wait for, and the operator's word on it. Never what a person would decide by. */
export function createRequirementRoutes({ store, requirements }: RequirementRouteOptions): Hono {
  async function findRequirement(id: string, doing: string): Promise<RequirementRecord> {
    const requirement = await store.findRequirement({ id })
    if (!requirement) throw new Rejection('no_recipient', `Cannot ${doing}: there is no such requirement`)
    return requirement
  }

  return new Hono()
    .get('/requirements', async context => {
      const { status, after, approver } = context.req.query()
      const subject = approver === 'operator' ? operatorSubject : undefined
      const page = { limit: pageSize, after: readCursor(after), status: readStatus(status), subject }
      const listed = await store.listRequirements(page)
      return context.json({
        requirements: listed.map(describeRequirement),
        next: listed.at(-1)?.place ?? null,
      })
    })
    .get('/requirements/:id', async context => {
      const requirement = await findRequirement(context.req.param('id'), 'show')
      const approval = await requirements.approvals.find(requirement.id)
      return context.json({ ...describeRequirement(requirement), ...describeCall(approval) })
    })
    .post('/requirements/:id', async context => {
      const requirement = await findRequirement(context.req.param('id'), 'decide')
      const reading = { problem: malformedDecision, maxDepth }
      const { outcome, arguments: args, remember: wanted } = await readOperatorRequest(context, decisionSchema, reading)
      const remember = readRemember(wanted, requirement)
      const approval = await requirements.approvals.find(requirement.id)
      if (!approval && args !== undefined) {
        throw new Rejection('malformed', 'Cannot decide: there are no arguments to change')
      }
      const resolved = approval
        ? await requirements.approvals.decide(approval, {
            method: 'operator',
            isGranted: outcome === 'granted',
            args: args as Json | undefined,
            remember,
          })
        : await requirements.decide(requirement, { method: 'operator', outcome, remember })
      if (resolved.outcome === 'refused') {
        throw new Rejection('forbidden', `Cannot decide: ${describeObjection(resolved.reason)}`)
      }
      return context.json(describeRequirement(resolved.requirement))
    })
}

/** Without the digest: with it somebody could try states elsewhere. */
function describeRequirement(requirement: RequirementRecord): object {
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
    status,
    issued_at: isoTime(issuedAt),
    expires_at: isoTime(expiresAt),
    ...(resolvedAt !== undefined && { resolved_at: isoTime(resolvedAt) }),
    ...(resolver && { resolver }),
  }
}

function describeCall(approval: OperatorApproval | undefined): object {
  if (!approval?.call) return {}
  const { id, tool, agent, summary, args, schema } = approval.call
  return {
    call: { tool_call_id: id, tool, ...(agent && { agent }), summary, arguments: args, ...(schema && { schema }) },
  }
}

const statuses: readonly RequirementStatus[] = ['open', 'granted', 'declined', 'expired']

function readStatus(text: string | undefined): RequirementStatus | undefined {
  if (text === undefined) return undefined
  const status = statuses.find(name => name === text)
  if (status) return status
  throw new Rejection('malformed', `Cannot list: "status" must be one of ${statuses.join(', ')}`)
}
