// Runs a gateway and a Fedify bot in one small network.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Activity } from '@fedify/vocab'
import { Create, Mention, Note, PUBLIC_COLLECTION } from '@fedify/vocab'
import type { MessageRecord } from '@postern/pipeline'
import type { Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { parseConfig } from 'postern/config'
import type { Gateway } from 'postern/gateway'
import { openGateway } from 'postern/gateway'
import { createLog } from 'postern/log'
import { vi } from 'vitest'
import type { FedifyBot, FedifyBotOptions } from './fedify-bot.ts'
import { botOrigin, openFedifyBot } from './fedify-bot.ts'

const fedifyOrigin = 'https://agents.test'
export const fedifyAgent = new URL(`${fedifyOrigin}/agents/echo`)
export const inbox = new URL(`${fedifyOrigin}/agents/echo/inbox`)
export const keyId = new URL(`${botOrigin}/users/bot#main-key`)

export interface FedifySetup {
  readonly simulation: Simulation
  readonly bot: FedifyBot
  readonly gateway: Gateway
  composeCreate(content: string, audience?: Audience): Create
  /** Returns an id that the bot has not used yet. */
  nextId(kind: string): URL
  /** Describes an unsigned POST to the agent's inbox. */
  describeRequest(activity: Activity): Promise<Request>
  /** Sends an activity as Fedify does by itself: request, object and, for the old servers, linked data are signed. */
  sendAsBot(activity: Activity): Promise<void>
  findRecord(activity: Activity): Promise<MessageRecord | undefined>
  /** Waits for the answer `Create` that passed Fedify's checks and reached the bot. */
  waitForAnswer(create: Create): Promise<Create>
  close(): Promise<void>
}

export interface Audience {
  readonly to: URL
  readonly cc: URL
}

export async function openFedifySetup(options: FedifyBotOptions = {}): Promise<FedifySetup> {
  const simulation = await openSimulation()
  // Fedify delivers with the global `fetch`.
  vi.stubGlobal('fetch', simulation.loopback.fetch)
  const bot = await openFedifyBot(simulation.loopback.fetch, options)
  const config = parseConfig({
    dev: true,
    origin: fedifyOrigin,
    listen: { port: 0 },
    data: mkdtempSync(join(tmpdir(), 'postern-fedify-')),
    agents: { echo: { name: 'Echo', description: 'Answers what you said', use: 'builtin:echo' } },
    network: { loopback: { 'fedify.test': bot.port } },
    log: { level: 'silent' },
  })
  const log = createLog({ level: 'silent', readable: false })
  const gateway = await openGateway(config, { baseDir: import.meta.dirname, log, operatorToken: 'unused' })
  const [http] = await gateway.start()
  simulation.connectGateway({ origin: fedifyOrigin, port: http?.port ?? 0 })
  let counter = 0
  const nextId = (kind: string) => {
    counter += 1
    return new URL(`${botOrigin}/${kind}/${counter}`)
  }
  return {
    simulation,
    bot,
    gateway,
    nextId,
    composeCreate(content, audience = { to: PUBLIC_COLLECTION, cc: fedifyAgent }) {
      const id = nextId('notes')
      const mention = new Mention({ href: fedifyAgent, name: '@echo@agents.test' })
      return new Create({
        id: new URL(`${id.href}#create`),
        actor: bot.actor,
        object: new Note({ id, attribution: bot.actor, content, tags: [mention], ...audience }),
        ...audience,
      })
    },
    async describeRequest(activity) {
      const body = JSON.stringify(await activity.toJsonLd({ format: 'compact', contextLoader: bot.loader }))
      return new Request(inbox, { method: 'POST', headers: { 'content-type': 'application/activity+json' }, body })
    },
    async sendAsBot(activity) {
      const context = bot.federation.createContext(new URL(botOrigin), undefined)
      await context.sendActivity({ identifier: 'bot' }, { id: fedifyAgent, inboxId: inbox, endpoints: null }, activity)
    },
    findRecord: async ({ id }) => gateway.store.findMessage(id?.href ?? ''),
    waitForAnswer: ({ objectId }) =>
      bot.waitFor(async activity => {
        if (!(activity instanceof Create)) return undefined
        const note = await activity.getObject()
        return note instanceof Note && note.replyTargetId?.href === objectId?.href ? activity : undefined
      }),
    async close() {
      vi.unstubAllGlobals()
      await gateway.stop()
      bot.close()
      await simulation.close()
    },
  }
}
