import type { Json, Platform } from '@postern/core'
import { copyJson, hashContent } from '@postern/transcript'
import type { DataContext } from './context.ts'
import { keepRecord } from './kept-record.ts'
import type { ClientState, DataStep } from './state.ts'

export interface ComputeSpec<Value extends Json = Json> {
  readonly computeName: string
  /** One value for all clients; depends on shared states alone. */
  readonly isShared?: boolean | undefined
  /** States that it depends on. It is computed again when one of them changes. */
  readonly dependsOn?: readonly string[] | undefined
  /** How long it is valid, ms; default: until a dependency changes. */
  readonly ttlMs?: number | undefined
  compute(states: { readonly [stateName: string]: Json }, clientId: string): Promise<Value> | Value
  readonly middlewares?: readonly DataStep<Value>[] | undefined
}

/** A value computed from states. It is kept while it is valid, also over restarts. */
export interface ClientCompute<Value extends Json = Json> {
  /** @throws the error of `compute`; then nothing is kept */
  get(): Promise<Value>
  /** The next `get` computes it again. */
  update(): Promise<void>
}

type Computed = { readonly value: Json; readonly at: number; readonly basis: string }

interface ComputeDeps extends DataContext {
  readonly platform: Pick<Platform, 'now'>
  /** @throws TypeError for an unknown name */
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
