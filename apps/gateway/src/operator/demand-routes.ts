import type { DemandDesk, DemandRecord, DemandStatus } from '@postern/core'
import { describeObjection, isoTime, Rejection, resolutionOutcomes } from '@postern/core'
import type { PolicyRoom } from '@postern/policy'
import { Hono } from 'hono'
import { z } from 'zod'
import { readOperatorRequest, readPlace } from './request.ts'

export interface DemandRouteOptions {
  readonly desk: DemandDesk
  readonly policy: Pick<PolicyRoom, 'decide'>
}

const malformedDecision = 'Cannot decide: say "outcome", "granted" or "declined"'
const decisionSchema = z.strictObject({ outcome: z.enum(resolutionOutcomes) })
const pageSize = 100

/** What agents wait for, and the operator's word on it. Never what a person would decide by. */
export function createDemandRoutes({ desk, policy }: DemandRouteOptions): Hono {
  return new Hono()
    .get('/demands', async context => {
      const { status, after } = context.req.query()
      const page = { limit: pageSize, after: readPlace(after), status: readStatus(status) }
      const demands = await desk.listDemands(page)
      return context.json({ demands: demands.map(describeDemand), next: demands.at(-1)?.place ?? null })
    })
    .post('/demands/:id', async context => {
      const demand = await desk.findDemand({ id: context.req.param('id') })
      if (!demand) throw new Rejection('no_recipient', 'Cannot decide: there is no such demand')
      const { outcome } = await readOperatorRequest(context, decisionSchema, { problem: malformedDecision })
      const resolved = await policy.decide(demand, { method: 'operator', outcome })
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
    policy,
    status,
    issued_at: isoTime(issuedAt),
    expires_at: isoTime(expiresAt),
    ...(resolvedAt !== undefined && { resolved_at: isoTime(resolvedAt) }),
    ...(resolver && { resolver }),
  }
}

const statuses: readonly DemandStatus[] = ['open', 'granted', 'declined', 'expired']

function readStatus(text: string | undefined): DemandStatus | undefined {
  if (text === undefined) return undefined
  const status = statuses.find(name => name === text)
  if (status) return status
  throw new Rejection('malformed', `Cannot list: "status" must be one of ${statuses.join(', ')}`)
}
