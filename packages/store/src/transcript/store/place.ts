/** Something said, and where it stands: an answer by what it answers. */
export interface SaidPlace {
  readonly seq: number
  readonly position: number
}

export interface StoreBound {
  /** Of the transcript. */
  readonly thread: number
  readonly store_thread: number
  /** From where on there may be something new. */
  readonly position: number
  readonly reader: string | null
}
