// Opens a client's states, storages and computed values by name.
import type { Json, System } from '@postern/message'
import { copyJson, hashContent } from '@postern/transcript'
import type { DataContext, DataDeps } from './data-context.ts'
import { openDataContext } from './data-context.ts'
import { openOwnItems, openSharedItems } from './shared-items.ts'
import type { ClientState, DataStep, StateSpec } from './state.ts'
import { createClientState, openSharedRecord } from './state.ts'
import type { ClientStorage, StorageItem, StorageSpec } from './storage.ts'
import { createClientStorage } from './storage.ts'

export interface DataSpec {
  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the type of a state by its name
  readonly states?: readonly StateSpec<any>[] | undefined
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly storages?: readonly StorageSpec<any>[] | undefined
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly computes?: readonly ComputeSpec<any>[] | undefined
}

/** A client's data in addition to its conversation, by name. Each method throws TypeError for an unknown name. */
export interface SwarmData {
  state<State extends Json = Json>(stateName: string): ClientState<State>
  storage<Item extends StorageItem = StorageItem>(storageName: string): ClientStorage<Item>
  compute<Value extends Json = Json>(computeName: string): ClientCompute<Value>
}

export function openSwarmData(
  { states = [], storages = [], computes = [] }: DataSpec,
  deps: DataDeps & { readonly system: Pick<System, 'now'> },
): SwarmData {
  const openContext = ({ isShared = false }: { readonly isShared?: boolean | undefined }) =>
    openDataContext(deps, isShared)
  const findState = createFinder(
    'state',
    states,
    ({ stateName }) => stateName,
    spec => createClientState(spec, openContext(spec)),
  )
  const findStorage = createFinder(
    'storage',
    storages,
    ({ storageName }) => storageName,
    spec => {
      const data = openContext(spec)
      // Conversations write shared items independently, so each item is a separate record.
      const storesItemsSeparately = spec.isShared && !spec.getDefault
      return createClientStorage(
        spec,
        data,
        storesItemsSeparately ? openSharedItems(spec.storageName, data) : openOwnItems(spec, data),
      )
    },
  )
  const findCompute = createFinder(
    'compute',
    computes,
    ({ computeName }) => computeName,
    spec =>
      createClientCompute(checkDependencies(spec, states), {
        ...openContext(spec),
        system: deps.system,
        openState: findState,
      }),
  )
  return {
    state: name => findState(name) as never,
    storage: name => findStorage(name) as never,
    compute: name => findCompute(name) as never,
  }
}

/** Checks that shared data does not depend on one client's data. */
function checkDependencies(spec: ComputeSpec, states: readonly StateSpec[]): ComputeSpec {
  const ownState = states.find(({ stateName, isShared }) => !isShared && spec.dependsOn?.includes(stateName))
  if (spec.isShared && ownState)
    throw new TypeError(`"${spec.computeName}" is shared, and "${ownState.stateName}" is not`)
  return spec
}

/** Creates the function that opens each value once by its name, so that concurrent changes of the value run one after the other. */
function createFinder<Spec, Opened>(
  kind: string,
  specs: readonly Spec[],
  nameOf: (spec: Spec) => string,
  open: (spec: Spec) => Opened,
): (name: string) => Opened {
  const valuesByName = new Map<string, Opened>()
  return name => {
    const existingValue = valuesByName.get(name)
    if (existingValue) return existingValue
    const spec = specs.find(candidate => nameOf(candidate) === name)
    if (!spec) throw new TypeError(`the swarm has no ${kind} "${name}"`)
    const value = open(spec)
    valuesByName.set(name, value)
    return value
  }
}

export interface ComputeSpec<Value extends Json = Json> {
  readonly computeName: string
  /** True for one value for all clients, which depends only on shared states. */
  readonly isShared?: boolean | undefined
  /** The states that the value depends on. The value is computed again after one of them has changed. */
  readonly dependsOn?: readonly string[] | undefined
  /** The time for which the value is valid, ms. Default: until a dependency changes. */
  readonly ttlMs?: number | undefined
  compute(states: { readonly [stateName: string]: Json }, clientId: string): Promise<Value> | Value
  readonly middlewares?: readonly DataStep<Value>[] | undefined
}

/** A value computed from states. It is stored as long as it is valid, and survives restarts. */
interface ClientCompute<Value extends Json = Json> {
  /** Returns the value. @throws the error of `compute`, after which nothing is stored */
  get(): Promise<Value>
  /** Makes the next `get` compute the value again. */
  update(): Promise<void>
}

type ComputedValue = { readonly value: Json; readonly at: number; readonly basis: string }

interface ComputeDeps extends DataContext {
  readonly system: Pick<System, 'now'>
  /** Opens a state for reading. @throws TypeError for an unknown name */
  openState(stateName: string): Pick<ClientState, 'get'>
}

function createClientCompute<Value extends Json>(
  { computeName, dependsOn = [], ttlMs, compute, middlewares = [] }: ComputeSpec<Value>,
  data: ComputeDeps,
): ClientCompute<Value> {
  const { clientId, system } = data
  const record = openSharedRecord<ComputedValue>(data.records, data.recordKeyOf('compute', computeName))

  async function readStates(): Promise<Record<string, Json>> {
    const values = await Promise.all(dependsOn.map(async name => [name, await data.openState(name).get()] as const))
    return Object.fromEntries(values)
  }

  function isCurrent({ at: computedAt, basis: dependencyHash }: ComputedValue, currentHash: string): boolean {
    return dependencyHash === currentHash && (ttlMs === undefined || system.now() < computedAt + ttlMs)
  }

  async function computeValue(states: Record<string, Json>, basis: string): Promise<ComputedValue> {
    let value = await compute(states, clientId)
    for (const step of middlewares) value = await step(value, clientId, computeName)
    return { value: copyJson(value), at: system.now(), basis }
  }

  return {
    async get() {
      const states = await readStates()
      const basis = hashContent(states)
      const storedValue = await record.read()
      if (storedValue && isCurrent(storedValue, basis)) return storedValue.value as Value
      const { value } = await record.change(() => computeValue(states, basis))
      data.emit('compute-bus', { type: 'emit-output', context: { computeName }, output: { data: value } })
      return value as Value
    },
    update: () => record.clear(),
  }
}
