{-# LANGUAGE CApiFFI #-}
-- SPDX-License-Identifier: GPL-2.0-only
-- Code that GHC makes of foreign imports, for symbols_test.sh.
module Main (main) where

import Foreign.C.Types
import Foreign.Ptr

foreign import capi "math.h sin" c_sin :: CDouble -> CDouble

foreign import ccall "wrapper" callback :: (CInt -> IO CInt) -> IO (FunPtr (CInt -> IO CInt))

foreign import ccall "dynamic" call :: FunPtr (CInt -> IO CInt) -> CInt -> IO CInt

main :: IO ()
main = do
  f <- callback (return . (+ 1))
  n <- call f 1
  print (c_sin (fromIntegral n))
