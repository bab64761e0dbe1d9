import type { AgentMakers } from '@postern/testing'
import { agentContract, agentSecret } from '@postern/testing'
import { openTestAgent } from '../test/gateway.ts'
import type { Respond } from '../test/webhook-server.ts'
import { openWebhookServer } from '../test/webhook-server.ts'

agentContract('builtin:echo', { answers: () => openTestAgent({ use: 'builtin:echo' }) })

function openHelp(helpText: string): AgentMakers['answers'] {
  return async () => ({ ...(await openTestAgent({ use: 'builtin:help' })), prompt: helpText })
}

agentContract('builtin:help', {
  answers: openHelp('help'),
  hangs: openHelp('slow'),
  countsHistory: openHelp('history'),
  hashesAttachment: openHelp('attachments'),
  remembers: openHelp('remember'),
  streams: openHelp('tool with four words'),
  refuses: openHelp('refuse'),
})

function openModule(text: string): AgentMakers['answers'] {
  return async () => ({ ...(await openTestAgent({ use: './modules/scripted.ts' })), prompt: text })
}

agentContract('module', {
  answers: openModule('hello'),
  staysSilent: openModule('silence'),
  fails: openModule('fail'),
  hangs: openModule('hang'),
  countsHistory: openModule('count'),
  hashesAttachment: openModule('hash'),
  remembers: openModule('remember'),
  streams: openModule('stream'),
  refuses: openModule('refuse'),
})

function openHook(respond: Respond): AgentMakers['answers'] {
  return async () => {
    const server = await openWebhookServer(respond)
    const { agent } = await openTestAgent({ use: 'webhook', url: server.url, secret: 'shared' })
    return { agent, close: server.close }
  }
}

agentContract('webhook', {
  answers: openHook(() => ({ body: { text: 'hello back' } })),
  staysSilent: openHook(() => ({ status: 204 })),
  fails: openHook(() => ({ status: 400, body: { error: agentSecret } })),
  isUnavailable: openHook(() => ({ status: 503, body: agentSecret })),
  hangs: openHook(() => new Promise(() => {})),
  countsHistory: openHook(({ body }) => ({ body: { text: `${JSON.parse(body).history.length} turns` } })),
  hashesAttachment: openHook(({ body }) => ({ body: { text: JSON.parse(body).parts[1].bytes_ref.digest } })),
  refuses: openHook(() => ({
    body: { status: 'rejected', parts: [{ kind: 'policy', policy: { kind: 'forbidden', message: 'No.' } }] },
  })),
})
