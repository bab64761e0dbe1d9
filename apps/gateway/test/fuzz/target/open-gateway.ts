// Opens the gateway under attack with its simulation.
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openSimulation } from '@postern/simulation'
import { describeTestConfig, gatewayOrigin, operatorToken, testIntakeSecret } from '../../setup/gateway.ts'
import type { Credentials } from './credentials.ts'
import { createCredentials } from './credentials.ts'
import { describeProviders } from './describe-providers.ts'
import type { FuzzTarget } from './open.ts'
import { openTarget } from './open.ts'

const gatewayProcessScript = fileURLToPath(new URL('./process.ts', import.meta.url))
const chatAgentPath = fileURLToPath(new URL('../../agents/chat/chatter.ts', import.meta.url))
const chatToken = 'chat-token-of-the-fuzz-run'

interface GatewayTarget {
  readonly target: FuzzTarget
  readonly credentials: Credentials
  close(): Promise<void>
}

/** Opens a whole gateway in its own process, and the simulation around it in this one. */
export async function openGatewayTarget(protocol: 'smtp' | 'lmtp'): Promise<GatewayTarget> {
  const simulation = await openSimulation()
  const directory = mkdtempSync(join(tmpdir(), 'postern-fuzz-'))
  const configPath = join(directory, 'config.json')
  const config = describeTestConfig(simulation, join(directory, 'data'), {
    log: { level: 'warn' },
    agents: {
      echo: { name: 'Echo', description: 'Says it back', use: 'builtin:echo' },
      help: { name: 'Help', description: 'Shows much', use: 'builtin:help' },
      chat: { name: 'Chat', description: 'Chats', use: chatAgentPath },
    },
    a2a: { limits: { wait_seconds: 5 }, grpc: { port: 0, per_address: 1_000_000 } },
    web: { enabled: true, auth: { tokens: [{ name: 'ann', sha256: hash('sha256', chatToken) }] } },
    email: { listen: { port: 0, protocol }, providers: describeProviders() },
  })
  writeFileSync(configPath, JSON.stringify(config))
  const target = await openTarget(gatewayProcessScript, [configPath])
  simulation.connectGateway({
    origin: gatewayOrigin,
    port: target.http,
    smtpPort: target.smtp,
    intakeSecret: testIntakeSecret,
  })
  return {
    target,
    credentials: createCredentials(simulation, {
      origin: gatewayOrigin,
      operatorToken,
      chatToken,
      intakeSecret: testIntakeSecret,
    }),
    async close() {
      await target.stop()
      await simulation.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
