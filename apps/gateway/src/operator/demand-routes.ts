import type { DemandDesk, DemandRecord, DemandStatus, Json, OperatorApproval } from '@postern/core'
import {
  describeObjection,
  isForOperator,
  isoTime,
  operatorSubject,
  Rejection,
  readRemember,
  resolutionOutcomes,
} from '@postern/core'
import type { PolicyRoom } from '@postern/policy'
import { Hono } from 'hono'
import { z } from 'zod'
import { readOperatorRequest, readPlace } from './request.ts'

export interface DemandRouteOptions {
  readonly desk: DemandDesk
  readonly policy: Pick<PolicyRoom, 'decide' | 'approvals'>
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
export function createDemandRoutes({ desk, policy }: DemandRouteOptions): Hono {
  async function findDemand(id: string, doing: string): Promise<DemandRecord> {
    const demand = await desk.findDemand({ id })
    if (!demand) throw new Rejection('no_recipient', `Cannot ${doing}: there is no such demand`)
    return demand
  }

  return new Hono()
    .get('/demands', async context => {
      const { status, after, approver } = context.req.query()
      const subject = approver === 'operator' ? operatorSubject : undefined
      const page = { limit: pageSize, after: readPlace(after), status: readStatus(status), subject }
      const demands = await desk.listDemands(page)
      return context.json({ demands: demands.map(describeDemand), next: demands.at(-1)?.place ?? null })
    })
    .get('/demands/:id', async context => {
      const demand = await findDemand(context.req.param('id'), 'show')
      const approval = await policy.approvals.find(demand.id)
      return context.json({ ...describeDemand(demand), ...describeCall(approval) })
    })
    .post('/demands/:id', async context => {
      const demand = await findDemand(context.req.param('id'), 'decide')
      const reading = { problem: malformedDecision, maxDepth }
      const { outcome, arguments: args, remember: wanted } = await readOperatorRequest(context, decisionSchema, reading)
      const remember = readRemember(wanted, demand)
      const approval = await policy.approvals.find(demand.id)
      if (!approval && args !== undefined) {
        throw new Rejection('malformed', 'Cannot decide: there are no arguments to change')
      }
      const resolved = approval
        ? await policy.approvals.decide(approval, {
            method: 'operator',
            isGranted: outcome === 'granted',
            args: args as Json | undefined,
            remember,
          })
        : await policy.decide(demand, { method: 'operator', outcome, remember })
      if (resolved.outcome === 'refused') {
        throw new Rejection('forbidden', `Cannot decide: ${describeObjection(resolved.reason)}`)
      }
      return context.json(describeDemand(resolved.demand))
    })
}

/** Without the digest: with it somebody could try states elsewhere. */
function describeDemand(demand: DemandRecord): object {
  const { place, id, agent, via, message, kind, address, policy, status, resolver } = demand
  const { issuedAt, expiresAt, resolvedAt } = demand
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

const statuses: readonly DemandStatus[] = ['open', 'granted', 'declined', 'expired']

function readStatus(text: string | undefined): DemandStatus | undefined {
  if (text === undefined) return undefined
  const status = statuses.find(name => name === text)
  if (status) return status
  throw new Rejection('malformed', `Cannot list: "status" must be one of ${statuses.join(', ')}`)
}
