{-# LANGUAGE CApiFFI, GHCForeignImportPrim, MagicHash, UnliftedFFITypes #-}
-- SPDX-License-Identifier: GPL-2.0-only
-- Code that GHC makes of foreign imports, and the author's own in Cmm and C whose
-- names look alike, for symbols_test.sh.
module Main (main) where

import Foreign.C.Types
import Foreign.Ptr
import GHC.Exts

foreign import capi "math.h sin" c_sin :: CDouble -> CDouble

foreign import ccall "wrapper" callback :: (CInt -> IO CInt) -> IO (FunPtr (CInt -> IO CInt))

foreign import ccall "dynamic" call :: FunPtr (CInt -> IO CInt) -> CInt -> IO CInt

foreign import prim "my_primzh" prim# :: Word# -> Word#

foreign import prim "my_zip_loop" loop# :: Word# -> Word#

foreign import ccall unsafe "my_czh" c_my :: Word -> Word

main :: IO ()
main = do
  f <- callback (return . (+ 1))
  n <- call f 1
  print (c_sin (fromIntegral n))
  print (c_my (W# (prim# (loop# 4##))))
