// Reads a stored activity again, for example after an update of the gateway.

import type { ChannelContext, ChannelDiagnostics } from '@postern/pipeline'
import { createIntakeSteps } from '@postern/pipeline'
import type { ActivityPubConfig } from '../config.ts'
import { restoreRequest } from '../signature/recorded-request.ts'
import { createChannelDeps } from './deps.ts'
import { readFacts } from './facts.ts'
import { createInbound } from './inbound.ts'

/** Creates the function that restores the original request of a stored activity and reads the activity from it again. */
export function createActivityReplay(
  config: ActivityPubConfig,
  context: ChannelContext,
): NonNullable<ChannelDiagnostics['replay']> {
  return async ({ agent, arrival, raw }, conditions) => {
    const request = restoreRequest(arrival, raw, context.agents.origin)
    if (!request) return undefined
    const inbound = createInbound(config, createChannelDeps(config, { ...context, ...conditions }))
    const steps = createIntakeSteps(conditions.system)
    const intakes = inbound.normalize(await inbound.verify({ request, facts: readFacts(arrival) }, steps))
    return intakes.find(intake => intake.agent === agent)
  }
}
