// Runs the contract of agents against each kind of agent that needs no model.
import type { AgentMakers } from '@postern/testing'
import { agentContract, agentSecret } from '@postern/testing'
import { openTestAgent } from '../test/gateway.ts'
import type { Respond } from '../test/webhook-server.ts'
import { openWebhookServer } from '../test/webhook-server.ts'

agentContract('builtin:echo', { answers: () => openTestAgent({ use: 'builtin:echo' }) })

function createHelpOpener(helpText: string): AgentMakers['answers'] {
  return async () => ({ ...(await openTestAgent({ use: 'builtin:help' })), prompt: helpText })
}

agentContract('builtin:help', {
  answers: createHelpOpener('help'),
  hangs: createHelpOpener('slow'),
  countsHistory: createHelpOpener('history'),
  hashesAttachment: createHelpOpener('attachments'),
  remembers: createHelpOpener('remember'),
  streams: createHelpOpener('tool with four words'),
  refuses: createHelpOpener('refuse'),
})

function createModuleOpener(text: string): AgentMakers['answers'] {
  return async () => ({ ...(await openTestAgent({ use: './modules/scripted.ts' })), prompt: text })
}

agentContract('module', {
  answers: createModuleOpener('hello'),
  staysSilent: createModuleOpener('silence'),
  fails: createModuleOpener('fail'),
  hangs: createModuleOpener('hang'),
  countsHistory: createModuleOpener('count'),
  hashesAttachment: createModuleOpener('hash'),
  remembers: createModuleOpener('remember'),
  streams: createModuleOpener('stream'),
  refuses: createModuleOpener('refuse'),
})

function createWebhookOpener(respond: Respond): AgentMakers['answers'] {
  return async () => {
    const server = await openWebhookServer(respond)
    const { agent } = await openTestAgent({ use: 'webhook', url: server.url, secret: 'shared' })
    return { agent, close: server.close }
  }
}

agentContract('webhook', {
  answers: createWebhookOpener(() => ({ body: { text: 'hello back' } })),
  staysSilent: createWebhookOpener(() => ({ status: 204 })),
  fails: createWebhookOpener(() => ({ status: 400, body: { error: agentSecret } })),
  isUnavailable: createWebhookOpener(() => ({ status: 503, body: agentSecret })),
  hangs: createWebhookOpener(() => new Promise(() => {})),
  countsHistory: createWebhookOpener(({ body }) => ({ body: { text: `${JSON.parse(body).history.length} turns` } })),
  hashesAttachment: createWebhookOpener(({ body }) => ({ body: { text: JSON.parse(body).parts[1].bytes_ref.digest } })),
  refuses: createWebhookOpener(() => ({
    body: { status: 'rejected', parts: [{ kind: 'policy', policy: { kind: 'forbidden', message: 'No.' } }] },
  })),
})
