import type { Json, Platform } from '@postern/core'
import type { ClientCompute, ComputeSpec } from './compute.ts'
import { createClientCompute } from './compute.ts'
import type { DataDeps } from './context.ts'
import { openDataContext } from './context.ts'
import { keepOwnItems } from './own-items.ts'
import { keepSharedItems } from './shared-items.ts'
import type { ClientState, StateSpec } from './state.ts'
import { createClientState } from './state.ts'
import type { ClientStorage } from './storage.ts'
import { createClientStorage } from './storage.ts'
import type { StorageItem, StorageSpec } from './storage-spec.ts'

export interface DataSpec {
  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the type of a state by its name
  readonly states?: readonly StateSpec<any>[] | undefined
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly storages?: readonly StorageSpec<any>[] | undefined
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly computes?: readonly ComputeSpec<any>[] | undefined
}

/** A client's data beside its conversation, by name. All throw TypeError for an unknown name. */
export interface SwarmData {
  state<State extends Json = Json>(stateName: string): ClientState<State>
  storage<Item extends StorageItem = StorageItem>(storageName: string): ClientStorage<Item>
  compute<Value extends Json = Json>(computeName: string): ClientCompute<Value>
}

export function openSwarmData(
  { states = [], storages = [], computes = [] }: DataSpec,
  deps: DataDeps & { readonly platform: Pick<Platform, 'now'> },
): SwarmData {
  const dataOf = ({ isShared = false }: { readonly isShared?: boolean | undefined }) => openDataContext(deps, isShared)
  const findState = openByName(
    'state',
    states,
    ({ stateName }) => stateName,
    spec => createClientState(spec, dataOf(spec)),
  )
  const findStorage = openByName(
    'storage',
    storages,
    ({ storageName }) => storageName,
    spec => {
      const data = dataOf(spec)
      // Conversations write shared items independently, so each item is a record of its own.
      const isApart = spec.isShared && !spec.getDefault
      return createClientStorage(
        spec,
        data,
        isApart ? keepSharedItems(spec.storageName, data) : keepOwnItems(spec, data),
      )
    },
  )
  const findCompute = openByName(
    'compute',
    computes,
    ({ computeName }) => computeName,
    spec =>
      createClientCompute(checkBasis(spec, states), { ...dataOf(spec), platform: deps.platform, openState: findState }),
  )
  return {
    state: name => findState(name) as never,
    storage: name => findStorage(name) as never,
    compute: name => findCompute(name) as never,
  }
}

/** Shared data must not depend on one client's data. */
function checkBasis(spec: ComputeSpec, states: readonly StateSpec[]): ComputeSpec {
  const own = states.find(({ stateName, isShared }) => !isShared && spec.dependsOn?.includes(stateName))
  if (spec.isShared && own) throw new TypeError(`"${spec.computeName}" is shared, and "${own.stateName}" is not`)
  return spec
}

/** Opens each once, so that concurrent changes run one after the other. */
function openByName<Spec, Opened>(
  what: string,
  specs: readonly Spec[],
  nameOf: (spec: Spec) => string,
  open: (spec: Spec) => Opened,
): (name: string) => Opened {
  const opened = new Map<string, Opened>()
  return name => {
    const known = opened.get(name)
    if (known) return known
    const spec = specs.find(candidate => nameOf(candidate) === name)
    if (!spec) throw new TypeError(`the swarm has no ${what} "${name}"`)
    const made = open(spec)
    opened.set(name, made)
    return made
  }
}
