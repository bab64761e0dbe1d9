export { batch, computed, effect, signal } from '@preact/signals-core'
