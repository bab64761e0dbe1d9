// Describes the foreign frameworks, and sends their texts to our agents.
import { ourOrigin } from '../names.ts'
import type { OurGateway } from '../our-gateway.ts'
import type { ExamStep } from '../run-steps.ts'
import type { FrameworkAnswer, FrameworkClient, FrameworkRequest } from './client.ts'
import type { EnvironmentName } from './find-frameworks.ts'

/** The frameworks and one gateway. */
export interface FrameworkSetup {
  readonly gateway: OurGateway
  readonly clients: ReadonlyMap<FrameworkName, FrameworkClient>
  /** The header fields of each credential that the gateway accepts. */
  readonly credentials: Readonly<Record<ExamCredential, FrameworkRequest['headers']>>
}

export type FrameworkStep = ExamStep<FrameworkSetup>

type ExamCredential = 'key' | 'token' | 'wrong' | 'none'

/** The properties of a framework that matter to this exam. */
export interface Framework {
  readonly environment: EnvironmentName
  readonly script: string
  /** True if its client can send a file. */
  readonly sendsFiles: boolean
  /** True if it returns a file of an answer to its user. */
  readonly showsFiles: boolean
  /** True if it can choose among the credentials that a card offers; false if it uses the first one. */
  readonly choosesCredential: boolean
}

export const frameworks = {
  AG2: {
    environment: 'sdk-1',
    script: './ag2_client.py',
    sendsFiles: true,
    showsFiles: false,
    choosesCredential: true,
  },
  'Agent Framework': {
    environment: 'sdk-1',
    script: './agent_framework_client.py',
    sendsFiles: true,
    showsFiles: true,
    choosesCredential: true,
  },
  CrewAI: {
    environment: 'crewai',
    script: './crewai_client.py',
    sendsFiles: false,
    showsFiles: false,
    choosesCredential: false,
  },
  'Google ADK': {
    environment: 'adk',
    script: './adk_client.py',
    sendsFiles: true,
    showsFiles: true,
    choosesCredential: true,
  },
} as const satisfies Readonly<Record<string, Framework>>

export type FrameworkName = keyof typeof frameworks

/** A framework and the way in which it gets an answer. */
export interface FrameworkCaller {
  readonly name: FrameworkName
  readonly streams: boolean
}

/** Sends texts to an agent as one conversation. A streaming caller uses a key if it can; others use a token. */
export function sayAll(
  { clients, credentials }: FrameworkSetup,
  { name, streams }: FrameworkCaller,
  { agent, credential, ...rest }: CallPlan,
): Promise<FrameworkAnswer> {
  const usual = streams && frameworks[name].choosesCredential ? 'key' : 'token'
  const headers = credentials[credential ?? usual]
  const client = clients.get(name)
  if (!client) throw new Error(`${name} is not part of this exam`)
  return client.sayAll({ agent: `${ourOrigin}/agents/${agent}`, streams, headers, ...rest })
}

interface CallPlan extends Pick<FrameworkRequest, 'texts' | 'file'> {
  readonly agent: 'teller' | 'travel'
  readonly credential?: ExamCredential
}
