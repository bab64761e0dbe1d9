import type { Log, Platform } from '@postern/core'
import type { RecordStore, TranscriptStore } from '@postern/transcript'
import type { SwarmBus } from '../bus/bus.ts'
import type { DataSpec } from '../data/data.ts'
import type { AgentSpec } from './agent.ts'
import type { AnswerCheck } from './answer-check.ts'
import type { SwarmPolicy } from './policy.ts'
import type { SwarmTexts } from './texts.ts'

export interface SwarmSpec extends DataSpec {
  readonly swarmName: string
  readonly agents: readonly AgentSpec[]
  readonly defaultAgent: string
  readonly policies?: readonly SwarmPolicy[] | undefined
  /** Prompts before every agent's own. */
  readonly commonPrompts?: readonly string[] | undefined
  /** What no answer may contain; default: tool markup and JSON calls. */
  readonly answerChecks?: readonly AnswerCheck[] | undefined
  /** Whether a recursion of hand-overs throws (default) or returns `false`. */
  readonly throwsOnRecursion?: boolean | undefined
  readonly texts?: Partial<SwarmTexts> | undefined
}

export interface SwarmDeps {
  readonly transcript: TranscriptStore
  readonly records: RecordStore
  readonly bus: SwarmBus
  readonly platform: Pick<Platform, 'now' | 'randomBytes' | 'sleep'> & { readonly log: Pick<Log, 'warn'> }
  /** The owner of these clients. */
  readonly owner: string
}
