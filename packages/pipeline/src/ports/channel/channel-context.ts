// Declares the dependencies with which every channel is opened.

import type { BodyBudget, ShowRequirement, System } from '@postern/message'
import type { AdmissionDeps } from '../admission-rule.ts'
import type { AgentDirectory } from '../agent/agent-directory.ts'
import type { IdentityVerifier } from '../agent/evidence.ts'
import type { RequirementClaims } from '../requirement-claims.ts'
import type { RequirementDecisions } from '../store/requirement-store.ts'
import type { Channel } from './channel.ts'
import type { ChannelStore } from './channel-store.ts'

/** The dependencies with which every channel is opened. */
export interface ChannelContext {
  /** All open channels, including this one. The list fills up while the gateway opens them. */
  readonly channels: readonly Channel[]
  readonly system: System
  readonly store: ChannelStore
  readonly admission: AdmissionDeps
  readonly decisions: RequirementDecisions
  readonly agents: AgentDirectory
  /** The budget for bodies that arrive through servers other than HTTP, whose bodies are counted elsewhere. Absent if they are not limited. */
  readonly bodies?: BodyBudget | undefined
  /** Returns the signed, expiring address of stored bytes. */
  readonly fileAddress?: ((digest: string) => string) | undefined
  /** The limit on the length of agent chains; default: `defaultMaxHops`. */
  readonly maxHops?: number | undefined
  /** The maximum number of people and agents that one answer may mention; default: `defaultMaxMentions`. */
  readonly maxMentions?: number | undefined
  /** Renders a requirement for its addressee. Absent if requirements cannot be decided. */
  readonly showRequirement?: ShowRequirement | undefined
  /** Checks decisions that callers send themselves. Absent if such decisions are not accepted. */
  readonly requirementClaims?: RequirementClaims | undefined
  /** Checks that the disk has space for writes that are no messages, such as uploads. Admission checks messages. @throws Unavailable */
  checkSpace?(): void
  /** Returns true if an operator has paused an agent: its messages wait, and none of their turns begins. Absent if no agent is paused. */
  isPaused?(agent: string): boolean
  /** Verifies the statements of others about a sender. Absent if such statements do not count. */
  readonly identity?: IdentityVerifier | undefined
}

/** The text that a peer gets while it waits for the answer of a paused agent. */
export const agentPausedText = 'The agent is paused. Your message waits, and the agent answers it once it goes on.'
