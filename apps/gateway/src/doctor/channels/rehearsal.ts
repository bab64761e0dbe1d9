import type { ChannelName } from '@postern/core'
import { findChannel } from '@postern/core'
import { failure, ok } from '../../checks/finding.ts'
import type { CheckOutcome } from '../check.ts'
import { about, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'

/** Calls the default agent as a peer does, by its public address, with what has no effect: once proven, once forged. */
export async function checkRehearsal(deps: DoctorDeps, via: ChannelName): Promise<CheckOutcome> {
  const { channels, agents, openResolvePlatform } = requireOpened(deps)
  const agent = agents.defaultAgent ?? agents.list()[0]?.name
  const channel = findChannel(channels, via)
  if (agent === undefined || !channel?.rehearse) return skip('', 'no agent can be called by this channel')
  const { endpoint, proven, forged } = await channel.rehearse(agent, openResolvePlatform().fetch)
  const fix = `Let the proxy pass the body and all header fields of ${endpoint} on as they are; then see "postern refusals".`
  if (!proven.isRight) return about(endpoint, failure(`a call of our own is not taken: ${proven.answer}`, fix))
  return forged.isRight
    ? about(endpoint, ok('a call of our own was taken, and the same with a forged proof was refused'))
    : about(endpoint, failure(`a call with a forged proof is not refused: ${forged.answer}`, fix))
}
