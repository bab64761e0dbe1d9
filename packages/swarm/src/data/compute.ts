import type { Json, Platform } from '@postern/core'
import { copyJson, hashContent } from '@postern/transcript'
import type { DataContext } from './context.ts'
import { keepRecord } from './kept-record.ts'
import type { ClientState, DataStep } from './state.ts'

export interface ComputeSpec<Value extends Json = Json> {
  readonly computeName: string
  /** One for all clients; depends on shared states alone. */
  readonly isShared?: boolean | undefined
  /** States it is made of: it is made anew when one of them has changed. */
  readonly dependsOn?: readonly string[] | undefined
  /** How long it holds, ms; default: until something it depends on changes. */
  readonly ttlMs?: number | undefined
  compute(states: { readonly [stateName: string]: Json }, clientId: string): Promise<Value> | Value
  readonly middlewares?: readonly DataStep<Value>[] | undefined
}

/** A value that is made of states, and kept until it does not hold any more; over restarts, too. */
export interface ClientCompute<Value extends Json = Json> {
  /** @throws what `compute` throws; then nothing is kept */
  get(): Promise<Value>
  /** Made anew at the next `get`. */
  update(): Promise<void>
}

type Computed = { readonly value: Json; readonly at: number; readonly basis: string }

interface ComputeDeps extends DataContext {
  readonly platform: Pick<Platform, 'now'>
  /** @throws TypeError when there is none of this name */
  openState(stateName: string): Pick<ClientState, 'get'>
}

export function createClientCompute<Value extends Json>(
  { computeName, dependsOn = [], ttlMs, compute, middlewares = [] }: ComputeSpec<Value>,
  data: ComputeDeps,
): ClientCompute<Value> {
  const { clientId, platform } = data
  const record = keepRecord<Computed>(data.records, data.placeOf('compute', computeName))

  async function readStates(): Promise<Record<string, Json>> {
    const values = await Promise.all(dependsOn.map(async name => [name, await data.openState(name).get()] as const))
    return Object.fromEntries(values)
  }

  function holds({ at, basis }: Computed, now: string): boolean {
    return basis === now && (ttlMs === undefined || platform.now() < at + ttlMs)
  }

  async function make(states: Record<string, Json>, basis: string): Promise<Computed> {
    let value = await compute(states, clientId)
    for (const step of middlewares) value = await step(value, clientId, computeName)
    return { value: copyJson(value), at: platform.now(), basis }
  }

  return {
    async get() {
      const states = await readStates()
      const basis = hashContent(states)
      const kept = await record.read()
      if (kept && holds(kept, basis)) return kept.value as Value
      const { value } = await record.change(() => make(states, basis))
      data.tell('compute-bus', { type: 'emit-output', context: { computeName }, output: { data: value } })
      return value as Value
    },
    update: () => record.clear(),
  }
}
