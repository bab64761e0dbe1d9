import { createHash } from 'node:crypto'
import type { ProtocolDelivery, ProtocolDriver } from '@postern/testing'
import { protocolContract } from '@postern/testing'
import { slack } from '../src/index.ts'
import { openSlackChannel } from './open-slack.ts'
import { botToken, signingSecret, signSlack, slackBot, writeEvent } from './slack-api.ts'

/** The environment that the server of the gateway gives a request. */
const peer = { clientAddress: '192.0.2.1' }
const maxBytes = 4 * 1024 * 1024

/** Writes a mention with the fault of a delivery. The same delivery gives the same event. */
function writeMention({ fault, id = 'one', text = 'Hello' }: ProtocolDelivery): string {
  const digits = Number.parseInt(createHash('sha256').update(`${id} ${text}`).digest('hex').slice(0, 8), 16)
  const event = {
    type: 'app_mention',
    user: fault === 'key_host_down' ? 'U5' : 'U1',
    channel: fault === 'unknown_recipient' ? 'CGHOST' : 'C1',
    ts: `1700000000.${digits}`,
    text: `<@${slackBot}> ${text}${fault === 'oversized' ? ' '.repeat(maxBytes) : ''}`,
  }
  if (fault === 'malformed') return `{ "event": ${JSON.stringify(event)}`
  const body = writeEvent(event, { event_id: `Ev${digits}` })
  return fault === 'deep' ? body.replace('{', `{"deep":${'['.repeat(5_000)}${']'.repeat(5_000)},`) : body
}

function sign(body: string, fault: ProtocolDelivery['fault']): Record<string, string> {
  if (fault === 'unsigned') return {}
  if (fault === 'expired') return signSlack(body, { at: Date.now() - 600_000 })
  if (fault === 'forged' || fault === 'wrong_owner') return signSlack(body, { secret: 'secret-of-another-app' })
  return signSlack(fault === 'tampered' ? `${body} ` : body)
}

protocolContract(slack.descriptor, async ({ watchStore }): Promise<ProtocolDriver> => {
  const { api, store, channel, removeAgent, close } = await openSlackChannel({
    wrapStore: watchStore,
    agents: { ghost: { channels: ['CGHOST'] } },
  })
  removeAgent('ghost')
  async function deliverOnce(delivery: ProtocolDelivery) {
    const body = writeMention(delivery)
    if (delivery.fault === 'key_host_down') {
      for (const _ of [1, 2]) api.answerNext('users.info', { ok: false, error: 'service_unavailable' })
    }
    const headers = { 'content-type': 'application/json', ...sign(body, delivery.fault) }
    const response = await channel.endpoint.routes.request('/platforms/slack', { method: 'POST', headers, body }, peer)
    const { code } = response.ok ? {} : await response.json()
    return { accepted: response.ok, answer: response.status, code }
  }
  return {
    store,
    async deliver(delivery = {}) {
      if (delivery.fault === 'replayed') await deliverOnce(delivery)
      return deliverOnce(delivery)
    },
    // The adapter tells no difference between an old signature and a false one.
    expected: { expired: 'signature_invalid', wrong_owner: 'signature_invalid' },
    secrets: () => [signingSecret, botToken, 'verification-token-of-slack'],
    close,
  }
})
