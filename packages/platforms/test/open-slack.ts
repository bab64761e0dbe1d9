// Opens the channel of Slack with a store, beside Slack's API on loopback.
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createGuardedFetch } from '@postern/http'
import type { System } from '@postern/message'
import { noLog } from '@postern/message'
import type { Channel, Store } from '@postern/pipeline'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import type { Hono } from 'hono'
import { platformsConfigSchema, slack } from '../src/index.ts'
import type { PlatformContext } from '../src/open-platform.ts'
import type { SlackApi } from './slack-api.ts'
import { botToken, openSlackApi, signingSecret } from './slack-api.ts'

export interface OpenedSlack {
  readonly api: SlackApi
  readonly store: Store
  readonly context: PlatformContext
  readonly channel: Channel<Hono>
  /** Removes an agent, as a changed configuration would. */
  removeAgent(name: string): void
  close(): Promise<void>
}

interface OpenSlackOptions {
  wrapStore?(store: Store): Store
  wrapRecords?(records: PlatformContext['records']): PlatformContext['records']
  /** The members of `agents` in the settings of Slack. */
  readonly agents?: Readonly<Record<string, { readonly channels: string[] }>>
}

/** Opens the channel for the agent `echo` and the agents of the options. No worker runs. */
export async function openSlackChannel({
  wrapStore,
  wrapRecords,
  agents = {},
}: OpenSlackOptions = {}): Promise<OpenedSlack> {
  const api = await openSlackApi()
  const fetch = createGuardedFetch({
    allowPrivate: [],
    loopback: { 'slack.com': api.port },
    userAgent: 'Postern/test',
    now: Date.now,
  })
  const system: System = {
    fetch,
    resolveDns: async () => [],
    submitMail: async () => ({ response: '250 ok' }),
    now: Date.now,
    randomBytes: count => randomBytes(count),
    sleep: (ms, signal) => delay(ms, undefined, signal && { signal }).catch(() => undefined),
    log: noLog,
  }
  const channels = [...sketchedChannels, slack.descriptor]
  const sqlite = await openSqliteStore({ channels, path: ':memory:', now: system.now, log: noLog })
  const store = wrapStore?.(sqlite) ?? sqlite
  const names = new Set(['echo', ...Object.keys(agents)])
  const find = (name: string) =>
    names.has(name) ? { name, displayName: name, description: 'Says it again', version: '1' } : undefined
  const context: PlatformContext = {
    channels: [],
    system: { ...system, fetchFor: () => fetch },
    store,
    admission: { rules: [], store },
    decisions: store,
    agents: { domain: 'agents.test', origin: 'https://agents.test', defaultAgent: 'echo', find, list: () => [] },
    baseDir: import.meta.dirname,
    records: wrapRecords?.(sqlite.records) ?? sqlite.records,
  }
  const settings = { bot_token: botToken, signing_secret: signingSecret, default_agent: 'echo', agents }
  const channel = await slack.open(platformsConfigSchema.parse({ slack: settings }).slack, context)
  if (!channel) throw new Error('the channel is closed')
  return {
    api,
    store,
    context,
    channel,
    removeAgent: name => names.delete(name),
    async close() {
      api.close()
      fetch.close()
      await sqlite.close()
    },
  }
}
