import type { HttpAnswer } from '../http/message.ts'

/** One server that takes the case's requests. */
export interface Contender {
  readonly name: string
  /** What a reader should know about what it does and does not do. */
  readonly note: string
  /** The file that runs it, and what that file is told. */
  readonly entry: URL
  readonly setup: unknown
  /** Flags of Node it is started with. */
  readonly nodeFlags?: readonly string[] | undefined
  /** Least ratio "its CPU time per message ÷ ours" we aim for; absent for ourselves and for mere information. */
  readonly aim?: number | undefined
  /** The contender this one is compared with; default: the case's first one. */
  readonly against?: string | undefined
  /** Files beside `entry` without which it cannot do the job: an earlier commit may lack them. */
  readonly needs?: readonly URL[] | undefined
  /** Where this contender wants its requests, when it differs from the others' address or credentials. */
  readonly variant?: string | undefined
}

/** A job that several servers do with the very same requests. */
export interface BenchCase {
  readonly name: string
  readonly title: string
  readonly connections: number
  /** Messages of the round that only warms up; default 4 000. */
  readonly warmUp?: number | undefined
  /** Ours comes first. */
  readonly contenders: readonly Contender[]
  /** Fresh requests, never sent before; made before a round, outside of the measured time. */
  prepare(count: number, variant?: string): Promise<readonly Uint8Array[]>
  isAccepted(answer: HttpAnswer): boolean
  close(): Promise<void>
}
