// Assembles the channel module of the test channel `ticker`.
import type { ChannelModule } from '@postern/http'
import { readBody, toProblem } from '@postern/http'
import { plainTextOf, Rejection, Undeliverable } from '@postern/message'
import type { Channel, ChannelContext, Inbound } from '@postern/pipeline'
import { createSender, receive } from '@postern/pipeline'
import { Hono } from 'hono'
import type { TickerConfig } from './config.ts'
import { tickerConfigSchema } from './config.ts'
import { normalizeSlip } from './normalize.ts'
import type { SealedSlip } from './slip.ts'
import { tickerDescriptor } from './speaker.ts'
import type { ProvenSlip } from './verify.ts'
import { verifySlip } from './verify.ts'

const maxBytes = 64 * 1024

function openTicker(config: TickerConfig, { agents, system, store, admission }: ChannelContext): Channel<Hono> {
  const inbound: Inbound<SealedSlip, ProvenSlip> = {
    name: tickerDescriptor.name,
    verify: async slip => verifySlip(slip, config, system.now()),
    normalize: slip => normalizeSlip(slip, agents),
  }
  const sender = createSender({
    descriptor: tickerDescriptor,
    address: ({ turn }) => {
      const { reply } = turn.target as { readonly reply: string }
      return { deliveries: [{ to: reply, target: { reply } }], aliases: [] }
    },
    render: ({ response }) => ({ text: plainTextOf(response?.parts ?? []) }),
    describe: slip => slip,
    async deliver(slip, { to }) {
      const headers = { 'content-type': 'application/json' }
      const { status } = await system.fetch(to, { method: 'POST', headers, body: JSON.stringify(slip) })
      if (status !== 204) throw new Undeliverable(`the peer answered ${status}`)
      return {}
    },
  })
  const routes = new Hono().post('/ticker/:agent', async context => {
    const body = await readBody(context.req.raw, maxBytes)
    const slip = { agent: context.req.param('agent'), body, seal: context.req.header('x-seal') ?? '' }
    const from = (context.env as { readonly clientAddress?: string }).clientAddress ?? ''
    const [stored] = await receive(inbound, slip, { admission, store, system, from })
    if (!stored) return toProblem(new Rejection('no_recipient', 'Cannot take slip: there is no such agent'))
    return context.body(null, 202)
  })
  return {
    ...sender,
    endpoint: { routes },
    ...(config.secret !== undefined && {
      discovery: { renderInvitation: agent => `By ticker: <code>/ticker/${agent}</code>` },
    }),
  }
}

/** A channel that exists only in this test and carries sealed slips of paper. */
export const ticker: ChannelModule<TickerConfig, 'ticker'> = {
  descriptor: tickerDescriptor,
  configSchema: tickerConfigSchema,
  open: openTicker,
}
