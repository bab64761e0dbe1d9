import type { Channel, ChannelContext } from '@postern/core'
import { createIntakeSteps } from '@postern/core'
import { createChannelDeps } from './channel-deps.ts'
import type { ActivityPubConfig } from './config.ts'
import { readFacts } from './facts.ts'
import { createInbound } from './inbound.ts'
import { restoreRequest } from './signature/request-record.ts'

/** Reads a stored activity again, as the request that it came with. */
export function createActivityReplay(
  config: ActivityPubConfig,
  context: ChannelContext,
): NonNullable<Channel['replay']> {
  return async ({ agent, arrival, raw }, moment) => {
    const request = restoreRequest(arrival, raw, context.agents.origin)
    if (!request) return undefined
    const inbound = createInbound(config, createChannelDeps(config, { ...context, ...moment }))
    const steps = createIntakeSteps(moment.platform)
    const intakes = inbound.normalize(await inbound.verify({ request, facts: readFacts(arrival) }, steps))
    return intakes.find(intake => intake.agent === agent)
  }
}
