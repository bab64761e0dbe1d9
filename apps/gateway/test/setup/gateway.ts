// Opens a whole gateway with a simulation around it.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DeliveryRecord, MessageRecord, MessageSummary } from '@postern/pipeline'
import type { Simulation } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import { channelModules } from '../../src/channels.ts'
import type { AnyChannelModule } from '../../src/config/channel-slices.ts'
import { parseConfig } from '../../src/config/read-config.ts'
import { createConfigSchema } from '../../src/config/schema.ts'
import { devDefaults, fillConfig, simulatedDefaults } from '../../src/dev/dev-configs.ts'
import { publishKeys } from '../../src/dev/simulation.ts'
import type { Gateway } from '../../src/gateway.ts'
import { openGateway } from '../../src/gateway.ts'
import { createLog } from '../../src/observe/log.ts'

export const gatewayOrigin = 'https://agents.test'
export const operatorToken = 'operator-token-of-the-tests'
export const testIntakeSecret = 'intake-secret-of-the-tests'

export interface TestGateway {
  readonly simulation: Simulation
  /** Returns the gateway that is running now. */
  gateway(): Gateway
  readonly url: () => string
  readonly dataDir: string
  /** Returns the answer of the operator's API. */
  requestOperator<Answer>(path: string): Promise<Answer>
  messages(): Promise<readonly MessageSummary[]>
  readMessage(id: string): Promise<MessageRecord>
  deliveries(): Promise<readonly DeliveryRecord[]>
  /** Stops the gateway and starts another one on the same data, with these settings over the first ones. */
  restart(changes?: Readonly<Record<string, unknown>>): Promise<void>
  close(): Promise<void>
}

/** Describes the configuration of a gateway in the simulation, as a file would have it. */
export function describeTestConfig(
  simulation: Simulation,
  dataDir: string,
  overrides: Record<string, unknown> = {},
): Record<string, unknown> {
  const { dns, loopback } = simulation.network
  const servers = { submit: simulation.mail.submit, issuers: [simulation.a2a.issuerConfig] }
  const access = { dns, loopback, origin: gatewayOrigin, ...servers, secret: testIntakeSecret }
  const testSettings = {
    listen: { port: 0 },
    data: dataDir,
    operator_token: operatorToken,
    log: { level: 'silent' },
    email: { listen: { port: 0, protocol: 'smtp' } },
    delivery: { retry_after: 0.2 },
    ...overrides,
  }
  return fillConfig(fillConfig(testSettings, devDefaults), simulatedDefaults(access))
}

/** Opens a whole gateway in this process, and a simulation around it, on loopback sockets. */
export async function openTestGateway(
  override: (simulation: Simulation) => Record<string, unknown> = () => ({}),
  modules: readonly AnyChannelModule[] = channelModules,
): Promise<TestGateway> {
  const simulation = await openSimulation()
  return openGatewayIn(simulation, override, modules).catch(async error => {
    await simulation.close()
    throw error
  })
}

async function openGatewayIn(
  simulation: Simulation,
  override: (simulation: Simulation) => Record<string, unknown>,
  modules: readonly AnyChannelModule[],
): Promise<TestGateway> {
  const schema = createConfigSchema(modules)
  const dataDir = mkdtempSync(join(tmpdir(), 'postern-'))
  let configFile = describeTestConfig(simulation, dataDir, override(simulation))
  let config = parseConfig(configFile, schema)
  const log = createLog({ level: config.log.level, readable: false })
  let gateway: Gateway
  let url = ''

  async function start(): Promise<void> {
    gateway = await openGateway(config, {
      baseDir: import.meta.dirname,
      log,
      operatorToken,
      modules,
      shutdownGraceMs: 1_500,
    })
    const [http, smtp] = await gateway.start()
    url = `http://127.0.0.1:${http?.port}`
    simulation.connectGateway({
      origin: gatewayOrigin,
      handleHost: config.handle_host,
      port: http?.port ?? 0,
      smtpPort: smtp?.port,
      intakeSecret: testIntakeSecret,
    })
    await publishKeys(simulation, gateway)
  }

  async function requestOperator<Answer>(path: string): Promise<Answer> {
    const response = await fetch(`${url}/operator/api${path}`, {
      headers: { authorization: `Bearer ${operatorToken}` },
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Answer
  }

  await start()
  return {
    simulation,
    gateway: () => gateway,
    url: () => url,
    dataDir,
    requestOperator,
    messages: async () => (await requestOperator<{ items: MessageSummary[] }>('/messages?limit=500')).items,
    readMessage: id => requestOperator<MessageRecord>(`/messages/${encodeURIComponent(id)}`),
    deliveries: async () => (await requestOperator<{ items: DeliveryRecord[] }>('/deliveries?limit=500')).items,
    async restart(changes = {}) {
      await gateway.stop()
      configFile = { ...configFile, ...changes }
      config = parseConfig(configFile, schema)
      await start()
    },
    async close() {
      await gateway.stop()
      await simulation.close()
    },
  }
}

/** Polls until `probe` returns a value. @throws Error after `timeoutMs` */
export async function eventually<Value>(
  findValue: () => Promise<Value | undefined | false>,
  timeoutMs = 30_000,
): Promise<Value> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const value = await findValue()
    if (value) return value
    if (Date.now() > deadline) throw new Error(`nothing came within ${timeoutMs} ms`)
    await new Promise(resolve => setTimeout(resolve, 25))
  }
}
