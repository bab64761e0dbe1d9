export { batch, computed, effect, signal, useComputed, useSignal } from '@preact/signals'
