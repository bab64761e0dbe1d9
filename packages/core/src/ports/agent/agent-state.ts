import type { Json } from '../../format/notations.ts'

/** JSON that an agent keeps per thread; written together with its answer, or not at all. */
export interface AgentState {
  get(): Promise<Json | undefined>
  set(value: Json): void
}
