import type { Event } from '@ag-ui/core'

export type Unstamped<E> = E extends Event ? Omit<E, 'timestamp'> : never

export type EmitEvent = (event: Unstamped<Event>) => void
