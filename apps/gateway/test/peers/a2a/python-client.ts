// Calls our agents with the Python client of A2A.
import { fileURLToPath } from 'node:url'
import { ourOrigin } from '../names.ts'
import type { OurGateway } from '../our-gateway.ts'
import { runCommand } from '../run-command.ts'

export interface A2aSetup {
  readonly gateway: OurGateway
  /** Calls one of our agents with the Python client, by `binding`, and sends it one text after the other. */
  call(agent: string, mode: CallMode, ...texts: readonly string[]): Promise<PythonConversation>
}

export interface CallMode {
  readonly binding: 'JSONRPC' | 'HTTP+JSON'
  readonly way: 'streams' | 'waits'
}

/** The conversation that `call_agent.py` prints. */
interface PythonConversation {
  /** The agent's name according to its card, whose signature was verified. */
  readonly name: string
  readonly answers: readonly {
    readonly state: string
    readonly message: string
    readonly artifacts: readonly string[]
    readonly task: string
    readonly events: readonly string[]
  }[]
}

export const callerKey = 'key-of-the-python-caller'

const caller = fileURLToPath(new URL('./call_agent.py', import.meta.url))

export function createCall(python: string, certPath: string): A2aSetup['call'] {
  return async (agent, { binding, way }, ...texts) => {
    const card = `/agents/${agent}/.well-known/agent-card.json`
    const args = [`SSL_CERT_FILE=${certPath}`, python, caller, ourOrigin, card, binding, way, callerKey, ...texts]
    const output = await runCommand('env', args, { timeoutMs: 120_000 })
    return JSON.parse(output.trim().split('\n').at(-1) ?? '') as PythonConversation
  }
}
